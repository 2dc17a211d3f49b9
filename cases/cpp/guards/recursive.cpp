//@ expect: none
//@ stages: scan
// std::recursive_mutex, nested.
#include <mutex>
#include <thread>

std::recursive_mutex lock;
int value;

static void inner() {
    std::lock_guard<std::recursive_mutex> guard(lock);
    value++;
}

static void worker() {
    std::lock_guard<std::recursive_mutex> guard(lock);
    inner();
    value++;
}

int main() {
    std::thread t(worker), u(worker);
    t.join();
    u.join();
    return value != 4;
}
