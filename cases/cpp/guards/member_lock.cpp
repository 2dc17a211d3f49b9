//@ expect: none
//@ stages: scan
// The lock is a member of the object.
#include <mutex>
#include <thread>

class counter {
    std::mutex lock;
    int value = 0;

  public:
    void add() {
        std::lock_guard<std::mutex> guard(lock);
        value++;
    }
};
counter shared;

int main() {
    std::thread t([] { shared.add(); }), u([] { shared.add(); });
    t.join();
    u.join();
}
