//@ expect: real
//@ flags: -std=c++20
// A semaphore with two places guards nothing alone.
#include <semaphore>
#include <thread>

std::counting_semaphore<4> places(2);
int inside;

static void work() {
    places.acquire();
    inside++; // RACE!(a)
    places.release();
}

int main() {
    std::thread t(work), u(work);
    t.join();
    u.join();
    return inside == 0;
}
