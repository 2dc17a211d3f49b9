//@ expect: real
// The word is reset by a plain store while another thread updates it atomically.
#include <pthread.h>

unsigned long sequence = 1;

static void *next(void *arg) {
    (void)arg;
    return (void *)__atomic_fetch_add(&sequence, 1, __ATOMIC_SEQ_CST); // RACE!(a)
}

static void *reset(void *arg) {
    sequence = 1; // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, next, 0);
    pthread_create(&u, 0, reset, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return sequence == 0;
}
