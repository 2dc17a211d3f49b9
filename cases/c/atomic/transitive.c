//@ expect: none
// Synchronisation is transitive through a third thread and a second flag.
#include <pthread.h>
#include <stdatomic.h>

atomic_int first_flag, second_flag;
int data;

static void *one(void *arg) {
    data = 5;
    atomic_store_explicit(&first_flag, 1, memory_order_release);
    return arg;
}

static void *two(void *arg) {
    while (!atomic_load_explicit(&first_flag, memory_order_acquire))
        ;
    atomic_store_explicit(&second_flag, 1, memory_order_release);
    return arg;
}

static void *three(void *arg) {
    (void)arg;
    while (!atomic_load_explicit(&second_flag, memory_order_acquire))
        ;
    return (void *)(long)data;
}

int main(void) {
    pthread_t t[3];
    void *r;
    pthread_create(&t[0], 0, three, 0);
    pthread_create(&t[1], 0, two, 0);
    pthread_create(&t[2], 0, one, 0);
    pthread_join(t[0], &r);
    pthread_join(t[1], 0);
    pthread_join(t[2], 0);
    return (long)r != 5;
}
