//@ expect: none
// Recursive and timed mutexes of the library; a time that ran out leads to no access.
#include <chrono>
#include <mutex>
#include <thread>

std::recursive_timed_mutex mutex;
int counter;

static void work() {
    std::lock_guard<std::recursive_timed_mutex> outer(mutex);
    if (mutex.try_lock_for(std::chrono::milliseconds(5))) {
        counter++;
        mutex.unlock();
    }
    counter++;
}

int main() {
    std::thread t(work), u(work);
    t.join();
    u.join();
    return counter < 2;
}
