//@ expect: none
// std::async on its own thread: get() orders everything the task did.
#include <future>

int side;

int main() {
    std::future<int> f = std::async(std::launch::async, [] {
        side = 3;
        return 4;
    });
    int r = f.get();
    return r + side != 7;
}
