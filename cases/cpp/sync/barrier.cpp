//@ expect: none
//@ flags: -std=c++20
// A barrier with a completion that collects the parts, for two rounds.
#include <barrier>
#include <thread>

int parts[2], total;

int main() {
    auto collect = []() noexcept { total += parts[0] + parts[1]; };
    std::barrier barrier(2, collect);
    auto work = [&](int i) {
        for (int round = 0; round < 2; round++) {
            parts[i] = i + 1 + round;
            barrier.arrive_and_wait();
        }
        parts[i] = total;
    };
    std::thread t(work, 0), u(work, 1);
    t.join();
    u.join();
    return parts[0] != 8 || parts[1] != 8;
}
