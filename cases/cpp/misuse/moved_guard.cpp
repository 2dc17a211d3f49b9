//@ expect: misuse
// A guard that is handed to another thread gives the mutex back there, which std::mutex forbids.
#include <mutex>
#include <thread>

std::mutex lock;
int value;

int main() {
    std::unique_lock<std::mutex> guard(lock);
    value++;
    std::thread t([guard = std::move(guard)]() mutable {
        value++;
        guard.unlock(); // RACE!(guard)
    });
    t.join();
    return 0;
}
