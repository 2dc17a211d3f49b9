//@ expect: none
// A promise that is kept when its thread ends: the library stores the state, in code that has no sites.
#include <cstdio>
#include <future>
#include <thread>

int main() {
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        std::promise<int> promise;
        std::future<int> future = promise.get_future();
        std::thread thread([&promise] { promise.set_value_at_thread_exit(4); });
        sum += future.get();
        thread.join();
    }
    std::printf("%d\n", sum);
    return sum == 12 ? 0 : 1;
}
