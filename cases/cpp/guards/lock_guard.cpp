//@ expect: none
//@ stages: scan
// std::lock_guard.
#include <mutex>
#include <thread>

std::mutex lock;
int value;

static void worker() {
    std::lock_guard<std::mutex> guard(lock);
    value++;
}

int main() {
    std::thread t(worker), u(worker);
    t.join();
    u.join();
    return value != 2;
}
