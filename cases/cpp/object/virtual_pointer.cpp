//@ expect: harmful(abort)
// The base class's destructor waits for a thread that still calls a virtual function: the derived part
// is gone by then, its virtual table exchanged, and the call may end in a pure virtual function.
#include <chrono>
#include <thread>

class Task {
public:
    Task() = default;
    virtual ~Task() { // RACE!(a)
        thread_.join();
    }
    void start() {
        thread_ = std::thread([this] {
            run(); // RACE!(a)
        });
    }
    virtual void run() = 0;

private:
    std::thread thread_;
};

class Print : public Task {
public:
    void run() override { done_ = 1; }

private:
    int done_ = 0;
};

int main() {
    Print task;
    task.start();
    std::this_thread::sleep_for(std::chrono::milliseconds(2)); // the ordinary run is well
    return 0;
}
