//@ expect: atomicity
// Every access to the account is locked, but a deposit reads and writes it in two critical sections.
#include <assert.h>
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int balance = 100;

static int get(void) {
    pthread_mutex_lock(&lock);
    int value = balance;
    pthread_mutex_unlock(&lock);
    return value;
}

static void set(int value) {
    pthread_mutex_lock(&lock);
    balance = value;
    pthread_mutex_unlock(&lock);
}

static void *deposit(void *arg) {
    set(get() + 10);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, deposit, 0);
    pthread_create(&u, 0, deposit, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    assert(balance == 120);
    return 0;
}
