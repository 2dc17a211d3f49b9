//@ expect: real
// Every thread gets the address of the loop's counter.
#include <pthread.h>

static void *worker(void *arg) {
    return (void *)(long)*(int *)arg; // RACE!(a)
}

int main(void) {
    pthread_t t[2];
    int i = 0;
    while (i < 2) {
        pthread_create(&t[i], 0, worker, &i);
        i++; // RACE!(a)
    }
    pthread_join(t[0], 0);
    pthread_join(t[1], 0);
    return 0;
}
