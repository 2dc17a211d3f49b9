//@ expect: real
//@ flags: -std=c++20
// An atomic_ref makes accesses through it atomic, not those beside it.
#include <atomic>
#include <thread>

int hits, misses;

int main() {
    std::thread t([] {
        std::atomic_ref<int>(misses).fetch_add(1);
        std::atomic_ref<int>(hits).fetch_add(1); // RACE!(a)
    });
    std::thread u([] {
        std::atomic_ref<int>(misses).fetch_add(1);
        hits++; // RACE!(a)
    });
    t.join();
    u.join();
    return misses != 2 || hits == 0;
}
