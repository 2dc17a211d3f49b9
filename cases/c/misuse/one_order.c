//@ expect: misuse
// Misused in some orders only: who looks while the lock is held gives it back, and who comes to the barrier second takes
// it for passed. Ordinary runs show neither.
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_barrier_t barrier;
atomic_int busy, entered, work;

static void *works(void *arg) {
    pthread_mutex_lock(&lock); // RACE!(lock)
    atomic_store(&busy, 1);
    for (int i = 0; i < 8; i++)
        atomic_fetch_add(&work, 1);
    int still = atomic_exchange(&busy, 0);
    if (still)
        pthread_mutex_unlock(&lock);
    return arg;
}

static void *comes(void *arg) {
    usleep(100000);
    atomic_store(&entered, 1);
    pthread_barrier_wait(&barrier); // RACE!(barrier)
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&t, 0, comes, 0);
    usleep(1000);
    if (atomic_load(&entered)) {
        pthread_barrier_destroy(&barrier); // RACE!(barrier)
        return 0;
    }
    pthread_barrier_wait(&barrier);
    pthread_create(&u, 0, works, 0);
    if (atomic_exchange(&busy, 0))
        pthread_mutex_unlock(&lock); // RACE!(lock)
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
