//@ expect: none
// A bounded buffer in a class, waiting with predicates.
#include <condition_variable>
#include <mutex>
#include <thread>

class Buffer {
public:
    void put(int v) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return count_ < 2; });
        cells_[(first_ + count_++) % 2] = v;
        changed_.notify_all();
    }
    int get() {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return count_ > 0; });
        int v = cells_[first_];
        first_ = (first_ + 1) % 2;
        count_--;
        changed_.notify_all();
        return v;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int cells_[2] = {}, first_ = 0, count_ = 0;
};

int main() {
    Buffer buffer;
    int sum = 0;
    std::thread producer([&] {
        for (int i = 1; i <= 4; i++)
            buffer.put(i);
    });
    std::thread consumer([&] {
        for (int i = 1; i <= 4; i++)
            sum += buffer.get();
    });
    producer.join();
    consumer.join();
    return sum != 10;
}
