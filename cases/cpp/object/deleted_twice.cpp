//@ expect: atomicity
// Two threads find the object there and delete it.
#include <mutex>
#include <thread>

struct Entry {
    long values[8] = {};
};

Entry *entry = new Entry;
std::mutex mutex;

static void drop() {
    Entry *mine;
    {
        std::lock_guard<std::mutex> lock(mutex);
        mine = entry;
    }
    if (mine) {
        delete mine; // RACE!(delete)
        std::lock_guard<std::mutex> lock(mutex);
        entry = nullptr;
    }
}

int main() {
    std::thread t(drop), u(drop);
    t.join();
    u.join();
    return 0;
}
