//@ expect: none
// The free functions for atomic access to a shared_ptr.
#include <memory>
#include <thread>

std::shared_ptr<int> current = std::make_shared<int>(1);

int main() {
    int seen = 0;
    std::thread reader([&] {
        if (auto p = std::atomic_load(&current))
            seen = *p;
    });
    std::thread writer([] { std::atomic_store(&current, std::make_shared<int>(2)); });
    reader.join();
    writer.join();
    return seen != 1 && seen != 2;
}
