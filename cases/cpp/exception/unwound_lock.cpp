//@ expect: real
// The guard is given back while the stack unwinds; the handler writes without it.
#include <mutex>
#include <thread>

std::mutex mutex;
int errors;

static void work() {
    try {
        std::lock_guard<std::mutex> guard(mutex);
        errors++; // RACE!(in)
        throw 1;
    } catch (int) {
        errors++; // RACE!(in) RACE!(out)
    }
}

int main() {
    std::thread t(work), u(work);
    t.join();
    u.join();
    return errors == 0;
}
