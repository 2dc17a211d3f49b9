//@ expect: harmful(exception)
// A sorted set in a synchronised wrapper is asked for all elements of another, over whose tree it walks without the lock.
#include <mutex>
#include <stdexcept>
#include <thread>

struct Entry {
    int key;
    Entry *left, *right;
};

struct Set {
    std::mutex lock;
    Entry *root = nullptr; // entries are left to a garbage collector
    int changes = 0;
    Entry *after(int key) {
        Entry *found = nullptr;
        for (Entry *e = root; e; e = e->key > key ? e->left : e->right) // RACE!(root)
            if (e->key > key)
                found = e;
        return found;
    }

    void add(int key) {
        std::lock_guard<std::mutex> hold(lock);
        Entry **at = &root;
        while (*at)
            at = key < (*at)->key ? &(*at)->left : &(*at)->right;
        *at = new Entry{key, nullptr, nullptr};
        changes++;
    }
    void clear() {
        std::lock_guard<std::mutex> hold(lock);
        changes++; // RACE!(changes)
        root = nullptr; // RACE!(root)
    }
    Entry *first(int &expected) {
        std::lock_guard<std::mutex> hold(lock);
        return expected = changes, after(0);
    }
    bool contains_all(Set &other) {
        std::lock_guard<std::mutex> hold(lock);
        int expected;
        for (Entry *next = other.first(expected); next; next = other.after(next->key)) {
            if (other.changes != expected) // RACE!(changes)
                throw std::logic_error("concurrent modification");
            if (after(next->key - 1)->key != next->key)
                return false;
        }
        return true;
    }
};

int main() {
    Set one, other;
    one.add(1), other.add(1);
    std::thread t([&] { one.contains_all(other); }), u([&] { other.clear(); });
    t.join(), u.join();
}
