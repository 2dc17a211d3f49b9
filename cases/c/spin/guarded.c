//@ expect: none
// pthread_spin_lock and pthread_spin_trylock.
#include <pthread.h>

pthread_spinlock_t lock;
int counter, tried;

static void *worker(void *arg) {
    pthread_spin_lock(&lock);
    counter++;
    pthread_spin_unlock(&lock);
    if (pthread_spin_trylock(&lock) == 0) {
        tried++;
        pthread_spin_unlock(&lock);
    }
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    pthread_spin_destroy(&lock);
    return counter != 2;
}
