//@ expect: none
// Items travel through the queue by pointer: their contents are ordered only by the queue's mutex, so
// they are suspected, and never real.
#include <condition_variable>
#include <mutex>
#include <thread>

struct Item {
    int value;
};
std::mutex mutex;
std::condition_variable changed;
Item *slot;

static void produce() {
    Item *item = new Item;
    item->value = 5; // WARN(hunt:a) MAY(hunt:b) handed over under the mutex
    std::lock_guard<std::mutex> lock(mutex);
    slot = item;
    changed.notify_one();
}

static int consume() {
    Item *item;
    {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [] { return slot != nullptr; });
        item = slot;
    }
    int v = item->value; // WARN(hunt:a) handed over under the mutex
    delete item;         // MAY(hunt:b) the end of what the producer wrote
    return v;
}

int main() {
    int got = 0;
    std::thread t(produce), u([&] { got = consume(); });
    t.join();
    u.join();
    return got != 5;
}
