//@ expect: real
// The same countdown with release alone: whoever is last does not acquire the others' parts. Only the
// last thread reads, so that its own part races with nothing.
#include <pthread.h>
#include <stdatomic.h>

atomic_int left = 2;
int parts[2], total;

static void *worker(void *arg) {
    int i = (int)(long)arg;
    parts[i] = i + 1; // RACE!(a)
    if (atomic_fetch_sub_explicit(&left, 1, memory_order_release) == 1)
        total = parts[1 - i]; // RACE!(a)
    return 0;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, (void *)0);
    pthread_create(&u, 0, worker, (void *)1);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return total == 0;
}
