//@ expect: harmful(use-after-free)
// One thread deletes the object that another one still reads.
#include <thread>

struct Entry {
    long key = 1, value = 2;
};

int main() {
    auto *entry = new Entry;
    long seen = 0;
    std::thread reader([&seen, entry] {
        seen = entry->value; // RACE!(a)
    });
    std::thread owner([entry] {
        delete entry; // RACE!(a)
    });
    reader.join();
    owner.join();
    return 0;
}
