//@ expect: real
// Two std::thread lambdas capture the same local variable by reference.
#include <thread>

int main() {
    int sum = 0;
    std::thread a([&] {
        sum += 1; // RACE!(a)
    });
    std::thread b([&] {
        sum += 2; // RACE!(a)
    });
    a.join();
    b.join();
    return sum == 0;
}
