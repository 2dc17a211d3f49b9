//@ expect: none
// condition_variable_any with a shared lock, and a wait that may run out of time.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>

std::shared_mutex mutex;
std::condition_variable_any changed;
bool ready;
int data;

static int wait_for_it() {
    std::shared_lock<std::shared_mutex> lock(mutex);
    while (!ready)
        changed.wait_for(lock, std::chrono::milliseconds(1));
    return data;
}

int main() {
    int got = 0;
    std::thread waiter([&] { got = wait_for_it(); });
    std::thread setter([] {
        std::unique_lock<std::shared_mutex> lock(mutex);
        data = 6;
        ready = true;
        changed.notify_all();
    });
    waiter.join();
    setter.join();
    return got != 6;
}
