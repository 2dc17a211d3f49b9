//@ expect: none
//@ flags: -std=c++20
// A jthread is asked to stop and joined by its destructor.
#include <thread>

int main() {
    int rounds = 0;
    {
        std::jthread worker([&](std::stop_token stop) {
            do {
                rounds++;
                std::this_thread::yield();
            } while (!stop.stop_requested());
        });
        worker.request_stop();
    }
    return rounds == 0;
}
