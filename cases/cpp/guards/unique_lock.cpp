//@ expect: real
//@ stages: scan
// std::unique_lock, given back early.
#include <mutex>
#include <thread>

std::mutex lock;
int value, late;

static void worker() {
    std::unique_lock<std::mutex> held(lock);
    value++;
    held.unlock();
    late++; // RACE!(a)
}

int main() {
    std::thread t(worker), u(worker);
    t.join();
    u.join();
    return value != 2;
}
