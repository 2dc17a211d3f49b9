//@ expect: real
// The side effect of the task is looked at before get().
#include <future>

int side;

int main() {
    std::future<int> f = std::async(std::launch::async, [] {
        side = 3; // RACE!(a)
        return 4;
    });
    int early = side; // RACE!(a)
    return f.get() + early < 4;
}
