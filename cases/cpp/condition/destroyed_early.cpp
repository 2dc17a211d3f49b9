//@ expect: harmful(use-after-free)
// The waiter sees the flag and destroys the object while the signaller still uses it.
#include <mutex>
#include <thread>

struct Event {
    std::mutex mutex;
    bool set = false;
    int signals = 0;
};

static void signal(Event *event) {
    {
        std::lock_guard<std::mutex> lock(event->mutex);
        event->set = true; // WARN(hunt:set) ordered by the mutex and the flag
    }
    event->signals++; // RACE!(a)
}

static void wait(Event *event) {
    for (;;) {
        std::lock_guard<std::mutex> lock(event->mutex);
        if (event->set)
            break;
        std::this_thread::yield();
    }
    delete event; // RACE!(a) WARN(hunt:set) the flag orders it after that
}

int main() {
    auto *event = new Event;
    std::thread t(signal, event), u(wait, event);
    t.join();
    u.join();
    return 0;
}
