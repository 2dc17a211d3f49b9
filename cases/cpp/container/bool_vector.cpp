//@ expect: real
// Elements of a vector<bool> share words: writing two of them is one race.
#include <thread>
#include <vector>

int main() {
    std::vector<bool> flags(8);
    std::thread t([&] {
        flags[1] = true; // RACE!(a)
    });
    std::thread u([&] {
        flags[2] = true; // RACE!(a)
    });
    t.join();
    u.join();
    return !flags[1] && !flags[2];
}
