//@ expect: deadlock
// A transfer locks the accounts in the order in which it is given them.
#include <mutex>
#include <thread>

struct account {
    std::mutex lock;
    int balance = 100;
} alice, bob;

static void transfer(account &from, account &to) {
    std::lock_guard<std::mutex> one(from.lock);
    std::lock_guard<std::mutex> other(to.lock); // RACE!(ring)
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
