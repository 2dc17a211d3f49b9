//@ expect: real
//@ flags: -std=c++20
// After the barrier one thread already writes the next round's part while the other reads this round's.
#include <barrier>
#include <thread>

int parts[2];

int main() {
    std::barrier barrier(2);
    int sums[2] = {0, 0};
    auto work = [&](int i) {
        for (int round = 0; round < 2; round++) {
            parts[i] = i + round; // RACE!(a)
            barrier.arrive_and_wait();
            sums[i] += parts[1 - i]; // RACE!(a)
        }
    };
    std::thread t(work, 0), u(work, 1);
    t.join();
    u.join();
    return sums[0] + sums[1] == 0;
}
