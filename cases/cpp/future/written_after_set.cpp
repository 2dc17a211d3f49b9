//@ expect: real
// The promise is kept before the rest of the result is written.
#include <future>
#include <thread>

struct Result {
    int head, tail;
} result;

int main() {
    std::promise<void> done;
    auto future = done.get_future();
    std::thread t([&] {
        result.head = 1;
        done.set_value();
        result.tail = 2; // RACE!(a)
    });
    future.wait();
    int sum = result.head;
    sum += result.tail; // RACE!(a)
    t.join();
    return sum < 1;
}
