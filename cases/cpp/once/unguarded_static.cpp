//@ expect: real
//@ flags: -fno-threadsafe-statics
// The guard of static locals was switched off: the flag and the object race.
#include <thread>

static int compute(int n) {
    volatile int v = n;
    return v + 1;
}

static int get(int n) {
    static int value = compute(n); // RACE!(a) RACE!(b)
    return value;                  // RACE!(b)
}

int main() {
    int a = 0, b = 0;
    std::thread t([&] { a = get(1); });
    std::thread u([&] { b = get(1); });
    t.join();
    u.join();
    return a != 2 && b != 2;
}
