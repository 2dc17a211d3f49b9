//@ expect: none
// Each thread has its own shared_ptr to one object; the last one destroys it.
#include <memory>
#include <thread>

struct Config {
    int value = 5;
    ~Config() { value = 0; }
};

int main() {
    auto config = std::make_shared<Config>();
    int a = 0, b = 0;
    std::thread t([config, &a] {
        auto again = config;
        a = again->value;
    });
    std::thread u([config, &b] { b = config->value; });
    config.reset();
    t.join();
    u.join();
    return a + b != 10;
}
