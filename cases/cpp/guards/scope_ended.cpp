//@ expect: real
//@ stages: scan
// Used after the guard's scope has ended.
#include <mutex>
#include <thread>

std::mutex lock;
int value;

static void worker() {
    { std::lock_guard<std::mutex> guard(lock); }
    value++; // RACE!(a)
}

int main() {
    std::thread t(worker), u(worker);
    t.join();
    u.join();
    return value == 0;
}
