//@ expect: real
// The guard orders the initialisation, not what is done with the object afterwards.
#include <thread>

static int start(int n) {
    return n + 100;
}

static int &counter() {
    static int n = start(0);
    return n;
}

static void work() {
    int &n = counter();
    n += 1; // RACE!(a)
}

int main() {
    volatile int offset = 0;
    std::thread t(work), u(work);
    t.join();
    u.join();
    return counter() + offset < 100;
}
