//@ expect: none
// The same transfer with a lock of both at once, which tries and backs off.
#include <mutex>
#include <thread>

struct account {
    std::mutex lock;
    int balance = 100;
} alice, bob;

static void transfer(account &from, account &to) {
    std::scoped_lock both(from.lock, to.lock);
    from.balance -= 10;
    to.balance += 10;
}

int main() {
    std::thread t([] { transfer(alice, bob); });
    std::thread u([] { transfer(bob, alice); });
    t.join();
    u.join();
    return alice.balance + bob.balance != 200;
}
