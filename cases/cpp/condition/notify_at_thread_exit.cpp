//@ expect: real
//@ levels: O1 the question is the library's, not the level's
// notify_all_at_thread_exit: the lock is given back when the thread's own destructors have run, so that what they wrote
// is ordered; what the thread wrote to elsewhere without the lock is not read under it.
#include <condition_variable>
#include <mutex>
#include <thread>

std::mutex lock;
std::condition_variable ended;
bool ready;
int last, bare;

struct AtExit {
    ~AtExit() { last = 1; }
};

static void work()
{
    thread_local AtExit destructor;
    (void)&destructor;
    std::unique_lock<std::mutex> held(lock);
    ready = true;
    std::notify_all_at_thread_exit(ended, std::move(held));
    bare++; // RACE!(a)
}

int main()
{
    std::thread thread(work);
    bare++; // RACE!(a)
    std::unique_lock<std::mutex> held(lock);
    ended.wait(held, [] { return ready; });
    int seen = last;
    held.unlock();
    thread.join();
    return seen != 1;
}
