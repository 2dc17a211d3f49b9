//@ expect: real
// A guard without a name is gone at once: the famous slip.
#include <mutex>
#include <thread>

std::mutex mutex;
int counter;

static void work() {
    (void)std::lock_guard<std::mutex>(mutex);
    counter++; // RACE!(a)
}

int main() {
    std::thread t(work), u(work);
    t.join();
    u.join();
    return counter == 0;
}
