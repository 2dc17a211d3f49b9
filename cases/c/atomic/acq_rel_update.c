//@ expect: none
// The last of three to count down collects the others' parts: acquire-release updates form a chain.
#include <pthread.h>
#include <stdatomic.h>

atomic_int left = 3;
int parts[3], total;

static void *worker(void *arg) {
    int i = (int)(long)arg;
    parts[i] = i + 1;
    if (atomic_fetch_sub_explicit(&left, 1, memory_order_acq_rel) == 1)
        total = parts[0] + parts[1] + parts[2];
    return 0;
}

int main(void) {
    pthread_t t[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&t[i], 0, worker, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return total != 6;
}
