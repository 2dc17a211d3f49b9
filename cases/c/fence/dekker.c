//@ expect: none
// Each thread raises its flag and looks at the other's, a full fence between: at most one gets in.
#include <pthread.h>
#include <stdatomic.h>

atomic_int wants[2];
int inside;

static void *enter(void *arg) {
    int i = (int)(long)arg;
    atomic_store_explicit(&wants[i], 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    if (!atomic_load_explicit(&wants[1 - i], memory_order_relaxed))
        inside++;
    return 0;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, enter, (void *)0);
    pthread_create(&u, 0, enter, (void *)1);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return inside > 1;
}
