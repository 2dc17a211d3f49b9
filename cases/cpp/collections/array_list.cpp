//@ expect: harmful(exception)
// Two lists in synchronised wrappers are compared: equals holds the lock of the one, and walks over the other without.
#include <mutex>
#include <stdexcept>
#include <thread>

class List {
    std::mutex lock;
    const char *elements[4] = {};
    int size = 0;
    int changes = 0;

    struct Iterator {
        List &list;
        int at, expected;
        bool has_next() { return at != list.size; } // RACE!(size)
        const char *next() {
            if (list.changes != expected) // RACE!(changes)
                throw std::logic_error("concurrent modification");
            return list.elements[at++]; // RACE!(element)
        }
    };

  public:
    Iterator iterator() {
        std::lock_guard<std::mutex> hold(lock);
        return {*this, 0, changes};
    }
    void add(const char *element) {
        std::lock_guard<std::mutex> hold(lock);
        elements[size++] = element;
        changes++;
    }
    void clear() {
        std::lock_guard<std::mutex> hold(lock);
        changes++; // RACE!(changes)
        for (int i = 0; i < 2; i++)
            elements[i] = nullptr; // RACE!(element)
        size = 0; // RACE!(size)
    }
    bool equals(List &other) {
        std::lock_guard<std::mutex> hold(lock);
        Iterator i = other.iterator();
        for (int at = 0; at < size && i.has_next(); at++)
            if (i.next() != elements[at])
                return false;
        return true;
    }
};

int main() {
    List one, other;
    const char *same = "same";
    one.add(same), one.add(same), other.add(same), other.add(same);
    std::thread t([&] { one.equals(other); }), u([&] { other.clear(); });
    t.join(), u.join();
}
