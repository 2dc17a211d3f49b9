//@ expect: none
// One exception object, thrown again in three threads. The library counts its holders, in code that has no
// sites, and the last one destroys it: after all who read it.
#include <atomic>
#include <cstdio>
#include <exception>
#include <thread>
#include <vector>

struct Failure {  // MAY(hunt:destroyed) by the last holder
    std::vector<int> values{1, 2, 3};
};
std::atomic<int> sum{0};

static void look(std::exception_ptr held) {
    try {
        std::rethrow_exception(held);
    } catch (Failure &failure) {
        sum += failure.values[1];  // MAY(hunt:destroyed) by the last holder
    }
    held = nullptr;
}

int main() {
    std::exception_ptr held = std::make_exception_ptr(Failure());
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++) threads.emplace_back(look, held);
    held = nullptr;
    for (std::thread &thread : threads) thread.join();
    std::printf("%d\n", sum.load());
    return sum == 6 ? 0 : 1;
}
