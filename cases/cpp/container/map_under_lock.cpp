//@ expect: none
// A map and the nodes that it allocates, everything under one mutex.
#include <map>
#include <mutex>
#include <thread>

std::mutex mutex;
std::map<int, int> counts;

static void add(int from) {
    for (int i = from; i < from + 3; i++) {
        std::lock_guard<std::mutex> lock(mutex);
        counts[i % 4]++;
        if (counts.size() > 3)
            counts.erase(0);
    }
}

int main() {
    std::thread t(add, 0), u(add, 2);
    t.join();
    u.join();
    return counts.empty();
}
