//@ expect: real
// A constructor lets its thread loose before the object is complete.
#include <thread>

class Server {
public:
    Server() : thread_([this] { serve(); }) {
        port_ = 80; // RACE!(a)
    }
    ~Server() { thread_.join(); }

private:
    void serve() {
        seen_ = port_; // RACE!(a)
    }
    int port_ = 0, seen_ = 0;
    std::thread thread_;
};

int main() {
    Server server;
    return 0;
}
