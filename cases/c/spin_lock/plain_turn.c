//@ expect: real
// Peterson's lock with volatile variables: the flags race, and by the language so does what they guard.
#include <pthread.h>
#include <sched.h>

volatile int wants[2], turn;
int counter;

static void *worker(void *arg) {
    int i = (int)(long)arg;
    wants[i] = 1;                // RACE!(wants)
    turn = 1 - i;                // RACE!(set) MISS(hunt:turn) read only if both want
    while (wants[1 - i]          // RACE!(wants) RACE!(reset)
           && turn == 1 - i)     // MISS(hunt:turn) no schedule of phase 1 has both want at once
        sched_yield();
    counter++;                   // RACE!(data)
    wants[i] = 0;                // RACE!(reset)
    return 0;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, (void *)0);
    pthread_create(&u, 0, worker, (void *)1);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return counter == 0;
}
