//@ expect: none
//@ flags: -std=c++20
// Atomic wait and notify: the value orders, the kernel's futex only sleeps.
#include <atomic>
#include <thread>

std::atomic<int> stage{0};
int data;

int main() {
    int got = 0;
    std::thread waiter([&] {
        stage.wait(0);
        got = data;
        stage.store(2);
        stage.notify_one();
    });
    data = 5;
    stage.store(1);
    stage.notify_all();
    stage.wait(1);
    waiter.join();
    return got != 5;
}
