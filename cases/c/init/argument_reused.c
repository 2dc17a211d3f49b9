//@ expect: real
//@ stages: hunt scan
// Every thread gets the address of the one counter that main goes on counting with.
#include <pthread.h>

static void *worker(void *arg) {
    return (void *)(long)*(int *)arg; // RACE!(a) RACE!(b)
}

int main(void) {
    pthread_t t, u;
    int i = 0;
    pthread_create(&t, 0, worker, &i);
    i++; // RACE!(a)
    pthread_create(&u, 0, worker, &i);
    i++; // RACE!(b)
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
