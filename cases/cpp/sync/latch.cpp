//@ expect: none
//@ flags: -std=c++20
// Workers count a latch down, main waits for it and reads their results before it joins them.
#include <latch>
#include <thread>

int parts[2];

int main() {
    std::latch done(2);
    std::thread t([&] {
        parts[0] = 1;
        done.count_down();
    });
    std::thread u([&] {
        parts[1] = 2;
        done.count_down();
    });
    done.wait();
    int sum = parts[0] + parts[1];
    t.join();
    u.join();
    return sum != 3;
}
