//@ expect: none
// Virtual calls and dynamic casts on one object from two threads only read its virtual pointer.
#include <thread>

struct Shape {
    virtual ~Shape() = default;
    virtual int area() const = 0;
};

struct Square : Shape {
    int side;
    explicit Square(int s) : side(s) {}
    int area() const override { return side * side; }
};

static int measure(const Shape *s) {
    const auto *square = dynamic_cast<const Square *>(s);
    return s->area() + (square ? square->side : 0);
}

int main() {
    const Shape *shape = new Square(4);
    int a = 0, b = 0;
    std::thread t([&] { a = measure(shape); });
    std::thread u([&] { b = measure(shape); });
    t.join();
    u.join();
    delete shape;
    return a + b != 40;
}
