//@ expect: none
// A weak pointer locks the object or finds it gone; both ends are ordered by the counts.
#include <memory>
#include <thread>

struct Node {
    int value = 9;
};

int main() {
    auto owner = std::make_shared<Node>();
    std::weak_ptr<Node> weak = owner;
    int seen = 9;
    std::thread t([weak, &seen] {
        if (auto p = weak.lock())
            seen = p->value;
    });
    std::thread u([p = std::move(owner)]() mutable { p.reset(); });
    t.join();
    u.join();
    return seen != 9;
}
