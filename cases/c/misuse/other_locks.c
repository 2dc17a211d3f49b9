//@ expect: misuse
//@ levels: O1 what the calls do is the same at each
// Read-write locks, spin locks and semaphores are given back by who took them, and not destroyed while in use.
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER, free_one = PTHREAD_RWLOCK_INITIALIZER;
pthread_rwlock_t read_lock = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t spin;
sem_t sem;

static void *other(void *arg) {
    pthread_rwlock_unlock(&written); // RACE!(written)
    return arg;
}

static void *waits(void *arg) {
    sem_wait(&sem); // RACE!(sem)
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_rwlock_wrlock(&written); // RACE!(written)
    pthread_create(&t, 0, other, 0);
    pthread_join(t, 0);

    pthread_rwlock_rdlock(&free_one);
    pthread_rwlock_unlock(&free_one);
    pthread_rwlock_unlock(&free_one); // RACE!(free_one)
    pthread_rwlock_rdlock(&read_lock); // RACE!(read_lock)
    pthread_rwlock_destroy(&read_lock); // RACE!(read_lock)
    pthread_spin_init(&spin, 0);
    pthread_spin_unlock(&spin); // RACE!(spin)

    sem_init(&sem, 0, 0);
    pthread_create(&u, 0, waits, 0);
    nanosleep(&(struct timespec){0, 1000000}, 0);
    sem_destroy(&sem); // RACE!(sem)
    return 0;
}
