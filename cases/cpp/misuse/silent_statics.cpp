//@ expect: none
// Static objects are destroyed while a detached thread holds a std::mutex; a lock moves between guards; a recursive one is
// taken twice.
#include <condition_variable>
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

std::mutex held, ready_lock;
std::condition_variable ready;
bool taken;

static std::unique_lock<std::mutex> locked() {
    std::unique_lock<std::mutex> guard(registry.lock);
    registry.entries++;
    return guard;
}

int main() {
    std::thread([] {
        held.lock();
        std::unique_lock<std::mutex> guard(ready_lock);
        taken = true;
        ready.notify_one();
        guard.unlock();
        std::this_thread::sleep_for(std::chrono::hours(1));
    }).detach();
    std::unique_lock<std::mutex> guard(ready_lock);
    ready.wait(guard, [] { return taken; });
    guard.unlock();
    {
        auto passed_on = locked();
        auto again = std::move(passed_on);
    }
    return 0;
}
