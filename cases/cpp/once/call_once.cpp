//@ expect: none
// std::call_once: whoever comes second finds the table ready.
#include <mutex>
#include <thread>

std::once_flag once;
int table[4];

static int get(int i) {
    std::call_once(once, [] {
        for (int k = 0; k < 4; k++)
            table[k] = k + 1;
    });
    return table[i];
}

int main() {
    int a = 0, b = 0;
    std::thread t([&] { a = get(1); });
    std::thread u([&] { b = get(2); });
    t.join();
    u.join();
    return a + b != 5;
}
