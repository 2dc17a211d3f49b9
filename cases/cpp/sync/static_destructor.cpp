//@ expect: none
// An object of static duration is destroyed after it was made, by whichever thread; so is what it was made from.
#include <atomic>
#include <thread>

static std::atomic<int> made;
int before;

struct Last {
    ~Last() { before++; }
};

static void makes() {
    before = 1;
    static Last last;
    made.store(1, std::memory_order_relaxed);
}

int main() {
    std::thread(makes).detach();
    while (!made.load(std::memory_order_relaxed))
        ;
    return 0;
}
