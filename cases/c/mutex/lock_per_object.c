//@ expect: none
//@ stages: hunt scan
// Each object carries its own mutex; the two objects change hands.
#include <pthread.h>

struct account {
    pthread_mutex_t lock;
    long balance;
} accounts[2] = {{PTHREAD_MUTEX_INITIALIZER, 100}, {PTHREAD_MUTEX_INITIALIZER, 100}};

static void add(struct account *a, long amount) {
    pthread_mutex_lock(&a->lock);
    a->balance += amount;
    pthread_mutex_unlock(&a->lock);
}

static void *transfer(void *arg) {
    int from = (int)(long)arg;
    for (int i = 0; i < 3; i++) {
        add(&accounts[from], -10);
        add(&accounts[1 - from], 10);
    }
    return 0;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, transfer, (void *)0);
    pthread_create(&u, 0, transfer, (void *)1);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return accounts[0].balance + accounts[1].balance != 200;
}
