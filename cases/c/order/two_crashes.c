//@ expect: crash
// Two places at which the program crashes, each under its own order of events: each is told.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int table, index_of_table;

__attribute__((noinline)) static void read_table(void) {
    if (!atomic_load(&table))
        *(volatile int *)NULL = 1;
}

__attribute__((noinline)) static void read_index(void) {
    if (!atomic_load(&index_of_table))
        *(volatile int *)NULL = 2;
}

static void *fill(void *arg) {
    atomic_store(&table, 1);
    atomic_store(&index_of_table, 1);
    return arg;
}

static void *use(void *arg) {
    if (arg)
        read_table();
    else
        read_index();
    return arg;
}

int main(void) {
    pthread_t t[3];
    pthread_create(&t[0], NULL, fill, NULL);
    pthread_create(&t[1], NULL, use, t);
    pthread_create(&t[2], NULL, use, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
