//@ expect: none
// A thread_local object with constructor and destructor: one for each thread.
#include <thread>

struct Counter {
    long n = 0, bumps[16] = {};
    ~Counter() { n = -1; }
    void bump() { bumps[n++ % 16]++; }
};

thread_local Counter counter;

static void work() {
    for (int i = 0; i < 5; i++)
        counter.bump();
}

int main() {
    std::thread t(work), u(work);
    t.join();
    u.join();
    return counter.n != 0;
}
