//@ expect: none
// The compiler's guard initialises a static local variable once.
#include <thread>

struct Table {
    int cells[8];
    explicit Table(int n) {
        for (int i = 0; i < 8; i++)
            cells[i] = n + i;
    }
};

static const Table &table(int n) {
    static const Table t(n);
    return t;
}

int main() {
    int a = 0, b = 0;
    std::thread t([&] { a = table(1).cells[3]; });
    std::thread u([&] { b = table(1).cells[4]; });
    t.join();
    u.join();
    return a + b != 9;
}
