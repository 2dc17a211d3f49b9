//@ expect: real
//@ stages: scan
// Two threads with one variable by reference.
#include <mutex>
#include <thread>

static void worker(int &value) {
    value++; // RACE!(a)
}

int main() {
    int value = 0;
    std::thread t(worker, std::ref(value)), u(worker, std::ref(value));
    t.join();
    u.join();
    return value == 0;
}
