//@ expect: none
// The same with an atomic index, relaxed: every piece has one owner.
#include <pthread.h>
#include <stdatomic.h>

#define N 6
atomic_int next_piece;
int pieces[N];

static void *worker(void *arg) {
    int mine;
    while ((mine = atomic_fetch_add_explicit(&next_piece, 1, memory_order_relaxed)) < N)
        pieces[mine] += mine;
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return pieces[N - 1] != N - 1;
}
