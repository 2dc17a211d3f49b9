// C++20's synchronisation: atomic waits, latch, barrier, semaphore, stop tokens, futures, once with exceptions.
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
#include <thread>
#include <vector>
using namespace std::chrono_literals;

static int destructors, tries;

struct Counts {
    ~Counts() {
        std::lock_guard<std::mutex> guard(lock());
        ++destructors;
    }
    static std::mutex &lock() {
        static std::mutex mutex;
        return mutex;
    }
};

static void throwing_once() {
    static std::once_flag flag;
    for (int i = 0; i < 3; i++) {
        try {
            std::call_once(flag, [] {
                if (tries++ < 2)
                    throw 1;
            });
        } catch (int) {
        }
    }
}

int main() {
    std::atomic<int> turn{0}, done{0};
    std::atomic<char> small{0};
    long phases = 0;
    std::latch latch(4);
    auto phase = [&]() noexcept { ++phases; };
    std::barrier barrier(4, phase);
    std::counting_semaphore<8> semaphore(0);
    std::binary_semaphore never(0);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&, i] {
            thread_local Counts counts;
            (void)counts;
            latch.arrive_and_wait();
            for (int k = 0; k < 50; k++)
                barrier.arrive_and_wait();
            for (int seen; (seen = turn.load()) != i;)
                turn.wait(seen);
            turn = i + 1;
            turn.notify_all();
            if (i == 2) {
                small = 1;
                small.notify_one();
            }
            semaphore.acquire();
            throwing_once();
            done++;
        });
    small.wait(0);
    semaphore.release(4);
    bool timeout = never.try_acquire_for(50ms);
    for (auto &thread : threads)
        thread.join();
    std::jthread stopped([](std::stop_token token) {
        std::mutex mutex;
        std::condition_variable_any condition;
        std::unique_lock<std::mutex> lock(mutex);
        condition.wait(lock, token, [] { return false; });
    });
    stopped.request_stop();
    std::shared_timed_mutex shared;
    shared.lock();
    bool got = std::async(std::launch::async, [&] { return shared.try_lock_shared_for(20ms); }).get();
    shared.unlock();
    std::printf("phases %ld done %d timeout %d destructors %d shared %d tries %d\n", phases, done.load(), timeout,
                destructors, got, tries);
}
