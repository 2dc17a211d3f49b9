//@ expect: real
// A cache that counts its hits under the shared lock.
#include <shared_mutex>
#include <thread>

std::shared_mutex mutex;
int value = 3;
int hits;

static int lookup() {
    std::shared_lock<std::shared_mutex> lock(mutex);
    hits++; // RACE!(a)
    return value;
}

int main() {
    int seen[2];
    std::thread r([&] { seen[0] = lookup(); });
    std::thread s([&] { seen[1] = lookup(); });
    r.join();
    s.join();
    return hits == 0;
}
