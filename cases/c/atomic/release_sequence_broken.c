//@ expect: real
// A plain relaxed store of another thread ends the release sequence. Clang's TSan lets the store keep the
// clock of the head and is silent.
#include <pthread.h>
#include <stdatomic.h>

atomic_int state;
int data;

static void *head(void *arg) {
    data = 1; // RACE!(a)
    atomic_store_explicit(&state, 1, memory_order_release);
    return arg;
}

static void *middle(void *arg) {
    while (atomic_load_explicit(&state, memory_order_relaxed) != 1)
        ;
    atomic_store_explicit(&state, 2, memory_order_relaxed);
    return arg;
}

static void *tail(void *arg) {
    (void)arg;
    while (atomic_load_explicit(&state, memory_order_relaxed) != 2)
        ; // not acquiring, so that the head's own value synchronises nothing
    (void)atomic_load_explicit(&state, memory_order_acquire);
    return (void *)(long)data; // RACE!(a)
}

int main(void) {
    pthread_t t[3];
    pthread_create(&t[0], 0, tail, 0);
    pthread_create(&t[1], 0, middle, 0);
    pthread_create(&t[2], 0, head, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return data != 1;
}
