//@ expect: real
// Workers pick their next piece by an index that nobody guards, and may pick the same one.
#include <pthread.h>
#include <sched.h>

#define N 6
volatile int next_piece;
int pieces[N];

static void *worker(void *arg) {
    for (;;) {
        int mine = next_piece; // RACE!(rw)
        sched_yield();
        next_piece = mine + 1; // RACE!(rw) RACE!(ww)
        if (mine >= N)
            return arg;
        pieces[mine]++; // RACE!(piece)
    }
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return pieces[0] < 1;
}
