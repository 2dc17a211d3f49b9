//@ expect: real
// The unique_lock was given up before the last write.
#include <mutex>
#include <thread>

std::mutex mutex;
long total;

static void add(long n) {
    std::unique_lock<std::mutex> lock(mutex);
    long sum = total + n; // RACE!(rw)
    lock.unlock();
    total = sum; // RACE!(rw) RACE!(ww)
}

int main() {
    std::thread t(add, 1), u(add, 2);
    t.join();
    u.join();
    return total == 0;
}
