//@ expect: none
// A packaged task is moved into a thread; its exception comes out of the future.
#include <future>
#include <stdexcept>
#include <thread>

int main() {
    std::packaged_task<int(int)> task([](int x) {
        if (x > 3)
            throw std::runtime_error("too much");
        return x;
    });
    auto future = task.get_future();
    std::thread t(std::move(task), 5);
    int caught = 0;
    try {
        future.get();
    } catch (const std::runtime_error &) {
        caught = 1;
    }
    t.join();
    return !caught;
}
