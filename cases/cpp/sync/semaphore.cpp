//@ expect: none
//@ flags: -std=c++20
// Counting semaphores pass a value to and fro.
#include <semaphore>
#include <thread>

int cell;

int main() {
    std::binary_semaphore full(0), empty(1);
    int sum = 0;
    std::thread producer([&] {
        for (int i = 1; i <= 3; i++) {
            empty.acquire();
            cell = i;
            full.release();
        }
    });
    std::thread consumer([&] {
        for (int i = 1; i <= 3; i++) {
            full.acquire();
            sum += cell;
            empty.release();
        }
    });
    producer.join();
    consumer.join();
    return sum != 6;
}
