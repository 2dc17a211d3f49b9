//@ expect: harmful(exception)
// The size is looked at before another thread empties the container: at() throws and nobody catches.
#include <stdexcept>
#include <thread>

class Stack {
public:
    int size() const {
        return size_; // RACE!(size)
    }
    int top() const {
        int n = size_; // RACE!(top)
        if (n == 0)
            throw std::out_of_range("empty");
        return cells_[n - 1];
    }
    void clear() {
        size_ = 0; // RACE!(size) RACE!(top)
    }

private:
    int cells_[4] = {1, 2, 3, 4};
    volatile int size_ = 4;
};

int main() {
    Stack stack;
    int seen = 0;
    std::thread reader([&] {
        if (stack.size() > 0)
            seen = stack.top();
    });
    std::thread clearer([&] { stack.clear(); });
    reader.join();
    clearer.join();
    return seen < 0;
}
