//@ expect: none
//@ levels: O1 what the calls do is the same at each
// Static objects are destroyed while a detached thread holds a std::mutex; a lock moves between guards; a recursive one is
// taken twice.
#include <atomic>
#include <mutex>
#include <thread>

struct Registry {
    std::mutex lock;
    std::recursive_mutex again;
    int entries = 0;
    ~Registry() {
        std::lock_guard<std::recursive_mutex> outer(again), inner(again);
        entries = -1;
    }
} registry;

std::mutex held;
std::atomic<bool> taken;

static std::unique_lock<std::mutex> locked() {
    std::unique_lock<std::mutex> guard(registry.lock);
    registry.entries++;
    return guard;
}

int main() {
    std::thread([] {
        held.lock();
        taken = true;
        std::this_thread::sleep_for(std::chrono::hours(1));
    }).detach();
    while (!taken)
        std::this_thread::yield();
    {
        auto passed_on = locked();
        auto again = std::move(passed_on);
    }
    return 0;
}
