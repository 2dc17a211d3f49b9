//@ expect: none
// std::lock_guard, std::unique_lock with early unlock, and std::scoped_lock over two mutexes.
#include <mutex>
#include <thread>

std::mutex first, second;
int a, b;

static void one() {
    {
        std::lock_guard<std::mutex> guard(first);
        a++;
    }
    std::unique_lock<std::mutex> lock(second);
    b++;
    lock.unlock();
    lock.lock();
    b++;
}

static void both() {
    std::scoped_lock lock(second, first);
    a++;
    b++;
}

int main() {
    std::thread t(one), u(both);
    t.join();
    u.join();
    return a != 2 || b != 3;
}
