//@ expect: real
//@ stages: scan
// A pointer to one of two objects: its lock is the lock of the object that it leads to, its neighbour's is not.
#include <pthread.h>

struct account {
    pthread_mutex_t lock;
    int balance, other;
} a = {PTHREAD_MUTEX_INITIALIZER, 0, 0}, b = {PTHREAD_MUTEX_INITIALIZER, 0, 0};

static void *worker(void *arg) {
    pthread_mutex_lock(&a.lock);
    a.balance++;
    a.other++; // RACE!(a)
    pthread_mutex_unlock(&a.lock);
    return arg;
}

int main(int argc, char **argv) {
    pthread_t t;
    struct account *chosen = argc > 1 ? &a : &b, *not_chosen = argc > 1 ? &b : &a;
    pthread_create(&t, 0, worker, argv);
    pthread_mutex_lock(&chosen->lock);
    chosen->balance++;
    not_chosen->other++; // RACE!(a)
    pthread_mutex_unlock(&chosen->lock);
    pthread_join(t, 0);
    return 0;
}
