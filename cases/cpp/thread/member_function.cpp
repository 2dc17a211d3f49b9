//@ expect: real
// A thread runs a member function while the owner calls another one.
#include <thread>

class Meter {
public:
    void record(int v) {
        last_ = v; // RACE!(a)
    }
    int last() const {
        return last_; // RACE!(a)
    }

private:
    int last_ = 0;
};

int main() {
    Meter meter;
    std::thread t(&Meter::record, &meter, 3);
    int seen = meter.last();
    t.join();
    return seen + meter.last() < 3;
}
