//@ expect: real
// The shared_ptr itself is shared: one thread assigns it while another copies it.
#include <memory>
#include <thread>

auto current = std::make_shared<int>(1);

int main() {
    int seen = 0;
    std::thread reader([&] {
        if (current.get()) // RACE!(a)
            seen = 1;
    });
    std::thread writer([] {
        current.reset(); // RACE!(a)
    });
    reader.join();
    writer.join();
    return seen > 1;
}
