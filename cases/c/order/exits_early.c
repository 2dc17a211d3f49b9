//@ expect: order
// main does not wait for its threads, so an ordinary run ends before they begin. Where they do come, and the check comes
// last, the books do not balance.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int balance = 10, paid_in, paid_out;

static void *pay_in(void *arg) {
    pthread_mutex_lock(&mutex);
    balance += 5;
    paid_in = 1;
    pthread_mutex_unlock(&mutex);
    return arg;
}

static void *pay_out(void *arg) {
    pthread_mutex_lock(&mutex);
    balance -= 4;
    paid_out = 1;
    pthread_mutex_unlock(&mutex);
    return arg;
}

static void *check(void *arg) {
    pthread_mutex_lock(&mutex);
    assert(!paid_in || !paid_out || balance == 10);
    pthread_mutex_unlock(&mutex);
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, check, 0);
    pthread_create(&t, 0, pay_in, 0);
    pthread_create(&t, 0, pay_out, 0);
    return 0;
}
