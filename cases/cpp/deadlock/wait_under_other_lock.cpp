//@ expect: deadlock
// A consumer waits for an item with the registry locked that the producer must lock first.
#include <condition_variable>
#include <mutex>
#include <thread>

std::mutex registry, queue;
std::condition_variable added;
int items, known;

int main() {
    std::thread producer([] {
        {
            std::lock_guard<std::mutex> held(registry); // RACE!(ring)
            known++;
        }
        std::lock_guard<std::mutex> held(queue);
        items++;
        added.notify_one();
    });
    std::thread consumer([] {
        std::lock_guard<std::mutex> held(registry);
        std::unique_lock<std::mutex> lock(queue);
        while (items == 0)
            added.wait(lock); // RACE!(ring)
        items--;
    });
    producer.join();
    consumer.join();
    return known != 1;
}
