//@ expect: none
// Threads in a vector, arguments moved in, all joined.
#include <memory>
#include <thread>
#include <utility>
#include <vector>

int main() {
    std::vector<std::thread> threads;
    std::vector<int> results(3);
    for (int i = 0; i < 3; i++)
        threads.emplace_back([p = std::make_unique<int>(i), &slot = results[i]] { slot = *p * 2; });
    std::vector<std::thread> moved = std::move(threads);
    for (auto &t : moved)
        t.join();
    return results[0] + results[1] + results[2] != 6;
}
