//@ expect: real
//@ flags: -std=c++20
// The latch is counted down before the result is written.
#include <latch>
#include <thread>

int part;

int main() {
    std::latch done(1);
    std::thread t([&] {
        done.count_down();
        part = 1; // RACE!(a)
    });
    done.wait();
    int seen = part; // RACE!(a)
    t.join();
    return seen > 1;
}
