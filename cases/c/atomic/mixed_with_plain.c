//@ expect: real
// An atomic store and a plain read of the same variable race; two atomic ones would not.
#include <pthread.h>

int state;

static void *setter(void *arg) {
    __atomic_store_n(&state, 1, __ATOMIC_RELEASE); // RACE!(a)
    return arg;
}

static void *atomic_reader(void *arg) {
    (void)arg;
    return (void *)(long)__atomic_load_n(&state, __ATOMIC_ACQUIRE);
}

static void *plain_reader(void *arg) {
    (void)arg;
    return (void *)(long)state; // RACE!(a)
}

int main(void) {
    pthread_t t[3];
    pthread_create(&t[0], 0, setter, 0);
    pthread_create(&t[1], 0, atomic_reader, 0);
    pthread_create(&t[2], 0, plain_reader, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return state != 1;
}
