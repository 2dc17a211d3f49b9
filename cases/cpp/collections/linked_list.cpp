//@ expect: harmful(exception)
//@ levels: O0 has_next is inlined into the line of the loop
// A list in a synchronised wrapper, as JDK 1.4 has it: contains_all walks over the other list without that list's lock.
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

class List {
    struct Node {
        int value;
        Node *next;
    };
    std::mutex lock;
    Node *first = nullptr; // nodes are left to a garbage collector
    int size = 0, changes = 0;

    struct Iterator {
        List &list;
        Node *node;
        int seen, expected;
        bool has_next() { return seen < list.size; } // RACE!(size)
        int next() {
            if (list.changes != expected) // RACE!(changes)
                throw std::logic_error("concurrent modification");
            seen++;
            return std::exchange(node, node->next)->value;
        }
    };

  public:
    Iterator iterator() {
        std::lock_guard<std::mutex> hold(lock);
        return {*this, first, 0, changes};
    }
    void add(int value) {
        std::lock_guard<std::mutex> hold(lock);
        first = new Node{value, first}, size++, changes++;
    }
    void remove_all() {
        std::lock_guard<std::mutex> hold(lock);
        changes++; // RACE!(changes)
        first = nullptr;
        size = 0; // RACE!(size)
    }
    bool contains_all(List &other) {
        for (Iterator i = other.iterator(); i.has_next();)
            if (i.next() != first->value)
                return false;
        return true;
    }
};

int main() {
    List one, other;
    one.add(1), other.add(1), other.add(1);
    std::thread t([&] { one.contains_all(other); }), u([&] { other.remove_all(); });
    t.join(), u.join();
}
