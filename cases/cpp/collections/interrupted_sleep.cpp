//@ expect: harmful(exception)
// A cache's cleaner is woken by an interrupt while it sleeps, as its flag says: the flag is asked without a lock, so that
// the interrupt can come when it no longer sleeps, and breaks off the cleaning.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

struct Interrupted {};

std::mutex status;
std::condition_variable changed;
bool interrupted;

static void interrupt() {
    std::lock_guard<std::mutex> hold(status);
    interrupted = true;
    changed.notify_all();
}

// What waits in this language's threads ends by an exception when the thread is interrupted.
static void wait(int milliseconds) {
    std::unique_lock<std::mutex> hold(status);
    if (changed.wait_for(hold, std::chrono::milliseconds(milliseconds), [] { return interrupted; })) {
        interrupted = false;
        throw Interrupted();
    }
}

bool sleeps;

static void cleaner() {
    try {
        sleeps = true; // RACE!(falls_asleep)
        wait(50);
    } catch (const Interrupted &) {
    }
    sleeps = false; // RACE!(wakes)
    wait(1);        // cleans
}

int main() {
    std::thread t(cleaner);
    if (sleeps) // RACE!(falls_asleep) RACE!(wakes)
        interrupt();
    t.join();
}
