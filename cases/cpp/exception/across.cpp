//@ expect: none
// An exception is caught in one thread, carried over and thrown again in another.
#include <exception>
#include <stdexcept>
#include <thread>

std::exception_ptr carried;
int unwound;

struct Count {
    ~Count() { unwound++; }
};

static void fail(int depth) {
    Count c;
    if (depth == 0)
        throw std::out_of_range("bottom");
    fail(depth - 1);
}

int main() {
    std::thread t([] {
        try {
            fail(3);
        } catch (...) {
            carried = std::current_exception();
        }
    });
    t.join();
    int caught = 0;
    try {
        std::rethrow_exception(carried);
    } catch (const std::out_of_range &) {
        caught = 1;
    }
    return caught + unwound != 5;
}
