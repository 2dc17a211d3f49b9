//@ expect: none
// The free functions for atomic access to a shared_ptr.
#include <memory>
#include <thread>

std::shared_ptr<int> current = std::make_shared<int>(1);

int main() {
    int seen = 0;
    std::thread reader([&] {
        if (auto p = std::atomic_load(&current)) // MAY(hunt:p) published under the library's lock
            seen = *p;                           // MAY(hunt:p) likewise
    });
    std::thread writer([] { std::atomic_store(&current, std::make_shared<int>(2)); }); // MAY(hunt:p) likewise
    reader.join();
    writer.join();
    return seen != 1 && seen != 2;
}
