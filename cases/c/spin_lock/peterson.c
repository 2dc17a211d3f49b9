//@ expect: none
// Peterson's lock with sequentially consistent atomics.
#include <pthread.h>
#include <stdatomic.h>

atomic_int wants[2], turn;
int counter;

static void *worker(void *arg) {
    int i = (int)(long)arg;
    for (int k = 0; k < 2; k++) {
        atomic_store(&wants[i], 1);
        atomic_store(&turn, 1 - i);
        while (atomic_load(&wants[1 - i]) && atomic_load(&turn) == 1 - i)
            ;
        counter++;
        atomic_store(&wants[i], 0);
    }
    return 0;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, (void *)0);
    pthread_create(&u, 0, worker, (void *)1);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return counter != 4;
}
