//@ expect: real
// A mutex is destroyed and begun again at the same address. The first and the second life are two
// objects: nothing orders the critical sections of one with those of the other.
// Clang's TSan keeps no lifetimes here and is silent on the counter.
#include <pthread.h>
#include <stdatomic.h>

pthread_mutex_t lock;
atomic_int turn;
int counter;

static void use(void) {
    pthread_mutex_init(&lock, 0);
    pthread_mutex_lock(&lock);
    counter++; // RACE!(a)
    pthread_mutex_unlock(&lock);
    pthread_mutex_destroy(&lock);
}

static void *first(void *arg) {
    use();
    atomic_store_explicit(&turn, 1, memory_order_relaxed);
    return arg;
}

static void *second(void *arg) {
    while (!atomic_load_explicit(&turn, memory_order_relaxed))
        ;
    use();
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, first, 0);
    pthread_create(&u, 0, second, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return counter == 0;
}
