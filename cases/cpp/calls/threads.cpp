//@ frontends: gcc clang
//@ expect: harmful(assert)
// std::thread, std::mutex and a local static in code that a compiler instruments; one counter is outside of the lock.
#include <cassert>
#include <mutex>
#include <thread>
#include <vector>

std::mutex lock;
int inside, outside;

static std::vector<int> &numbers() {
    static std::vector<int> all{1, 2, 3};
    return all;
}

static void work() {
    {
        std::lock_guard<std::mutex> held(lock);
        inside += numbers()[1];
    }
    outside++; // RACE!(a)
}

int main() {
    std::thread one(work), two(work);
    one.join();
    two.join();
    assert(inside == 4);
    assert(outside == 2);
}
