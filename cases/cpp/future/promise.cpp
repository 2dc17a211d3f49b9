//@ expect: none
// A promise set in one thread, waited for in two through a shared future.
#include <future>
#include <thread>

int main() {
    std::promise<int> promise;
    std::shared_future<int> future = promise.get_future().share();
    int before = 0, a = 0, b = 0;
    std::thread t([&, future] { a = future.get() + before; });
    std::thread u([&, future] { b = future.get() + before; });
    before = 1;
    promise.set_value(8);
    t.join();
    u.join();
    return a + b != 18;
}
