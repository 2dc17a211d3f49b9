//@ expect: harmful(use-after-free)
// A raw pointer outlives the shared_ptr that owns the object.
#include <memory>
#include <thread>
#include <unistd.h>

struct Buffer {
    long size = 7;
};

volatile long seen;

int main() {
    auto owner = std::make_unique<Buffer>();
    Buffer *raw = owner.get();
    std::thread reader([raw] {
        seen = raw->size; // RACE!(a)
    });
    usleep(2000); // the ordinary run is well
    std::thread closer([mine = std::shared_ptr<Buffer>(std::move(owner))]() mutable {
        mine.reset(); // RACE!(a)
    });
    reader.join();
    closer.join();
    return 0;
}
