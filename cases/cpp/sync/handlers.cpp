//@ expect: none
// A handler of the library's comes after what was done before it was set.
#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

static std::atomic<int> set;
int before;

static void frees() {
    before++; // MAY(hunt:a) as above
    std::set_new_handler(nullptr);
}

static void sets() {
    before = 1; // MAY(hunt:a) the order is the library's own
    std::set_new_handler(frees);
    set.store(1, std::memory_order_relaxed);
}

int main() {
    std::thread thread(sets);
    while (!set.load(std::memory_order_relaxed))
        ;
    try {
        ::operator delete(::operator new(std::size_t(1) << 60));
    } catch (const std::bad_alloc &) {
    }
    thread.join();
    return 0;
}
