//@ expect: harmful(exception)
// JDK 1.1's Vector: the enumeration takes the lock for an element, but asks without it whether there is one.
#include <mutex>
#include <stdexcept>
#include <thread>

class Vector {
    std::mutex lock;
    int elements[4] = {};
    int count = 0;

  public:
    class Enumeration {
        Vector &vector;
        int at = 0;

      public:
        explicit Enumeration(Vector &vector) : vector(vector) {}
        bool has_more() { return at < vector.count; } // RACE!(count)
        int next() {
            std::lock_guard<std::mutex> hold(vector.lock);
            if (at >= vector.count)
                throw std::out_of_range("no such element");
            return vector.elements[at++];
        }
    };

    void add(int element) {
        std::lock_guard<std::mutex> hold(lock);
        elements[count++] = element;
    }
    void remove_all() {
        std::lock_guard<std::mutex> hold(lock);
        count = 0; // RACE!(count)
    }
};

int main() {
    Vector vector;
    vector.add(1), vector.add(2);
    int sum = 0;
    std::thread t([&] {
        for (Vector::Enumeration all(vector); all.has_more();)
            sum += all.next();
    });
    std::thread u([&] { vector.remove_all(); });
    t.join(), u.join();
    return sum > 3;
}
