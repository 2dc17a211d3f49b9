//@ expect: none
// The free functions for atomic access to a shared_ptr. (An object made by the writer would be published under a
// lock inside the library: rightly suspected, by locksets, wherever the reader comes second.)
#include <memory>
#include <thread>

std::shared_ptr<int> current = std::make_shared<int>(1);
std::shared_ptr<int> second = std::make_shared<int>(2);

int main() {
    int seen = 0;
    std::thread reader([&] {
        if (auto p = std::atomic_load(&current))
            seen = *p;
    });
    std::thread writer([] { std::atomic_store(&current, second); });
    reader.join();
    writer.join();
    return seen != 1 && seen != 2;
}
