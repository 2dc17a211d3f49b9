//@ expect: harmful(exception)
// A hash set in a synchronised wrapper takes all elements of another one, over whose buckets it walks without the lock.
#include <mutex>
#include <stdexcept>
#include <thread>

class Set {
    static const int BUCKETS = 4;
    std::mutex lock;
    int table[BUCKETS] = {}; // 0 for none; one for each bucket will do here
    int changes = 0;

    struct Iterator {
        Set &set;
        int at, expected;
        bool has_next() {
            while (at < BUCKETS && !set.table[at]) // RACE!(bucket)
                at++;
            return at < BUCKETS;
        }
        int next() {
            if (set.changes != expected) // RACE!(changes)
                throw std::logic_error("concurrent modification");
            return set.table[at++]; // RACE!(element)
        }
    };

  public:
    Iterator iterator() {
        std::lock_guard<std::mutex> hold(lock);
        return {*this, 0, changes};
    }
    void add(int element) {
        std::lock_guard<std::mutex> hold(lock);
        table[element % BUCKETS] = element;
        changes++;
    }
    void clear() {
        std::lock_guard<std::mutex> hold(lock);
        changes++; // RACE!(changes)
        for (int &bucket : table)
            bucket = 0; // RACE!(bucket) RACE!(element)
    }
    void add_all(Set &other) {
        for (Iterator i = other.iterator(); i.has_next();)
            add(i.next());
    }
};

int main() {
    Set one, other;
    other.add(1), other.add(3);
    std::thread t([&] { one.add_all(other); }), u([&] { other.clear(); });
    t.join(), u.join();
}
