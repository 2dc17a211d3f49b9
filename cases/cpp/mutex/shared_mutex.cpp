//@ expect: none
// Readers share, writers exclude.
#include <mutex>
#include <shared_mutex>
#include <thread>

std::shared_mutex mutex;
int value;

static int read() {
    std::shared_lock<std::shared_mutex> lock(mutex);
    return value;
}

static void write(int v) {
    std::unique_lock<std::shared_mutex> lock(mutex);
    value = v;
}

int main() {
    int seen[2];
    std::thread r([&] { seen[0] = read(); });
    std::thread w(write, 4);
    std::thread s([&] { seen[1] = read(); });
    r.join();
    w.join();
    s.join();
    return value != 4;
}
