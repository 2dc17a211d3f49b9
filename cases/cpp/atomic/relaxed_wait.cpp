//@ expect: real
//@ flags: -std=c++20
// The same with relaxed order: waking up is no synchronisation.
#include <atomic>
#include <thread>

std::atomic<int> ready{0};
int data;

int main() {
    int got = 0;
    std::thread waiter([&] {
        ready.wait(0, std::memory_order_relaxed);
        got = data; // RACE!(a)
    });
    data = 5; // RACE!(a)
    ready.store(1, std::memory_order_relaxed);
    ready.notify_all();
    waiter.join();
    return got == 7;
}
