//@ expect: real
// The count is atomic, what it counts for is not.
#include <memory>
#include <thread>

static void work(std::shared_ptr<int> p) {
    *p += 1; // RACE!(a)
}

int main() {
    auto p = std::make_shared<int>(1);
    std::thread t(work, p), u(work, p);
    t.join();
    u.join();
    return *p < 2;
}
