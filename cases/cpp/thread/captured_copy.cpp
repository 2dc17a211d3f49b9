//@ expect: none
// Captured by value, and results written to places of their own.
#include <thread>

int main() {
    int base = 10, left = 0, right = 0;
    std::thread a([base, &left] { left = base + 1; });
    std::thread b([base, &right] { right = base + 2; });
    a.join();
    b.join();
    return left + right != 23;
}
