//@ expect: none
// Everything is set up before the threads begin and taken down after they were joined.
#include <pthread.h>
#include <stdlib.h>

int *table;
struct {
    int rounds;
} config;

static void *worker(void *arg) {
    int i = (int)(long)arg;
    for (int k = 0; k < config.rounds; k++)
        table[i] += k;
    return 0;
}

int main(void) {
    pthread_t t, u;
    int sum;
    table = calloc(2, sizeof *table);
    if (!table)
        return 0;
    config.rounds = 4;
    pthread_create(&t, 0, worker, (void *)0);
    pthread_create(&u, 0, worker, (void *)1);
    pthread_join(t, 0);
    pthread_join(u, 0);
    config.rounds = 0;
    sum = table[0] + table[1];
    free(table);
    return sum != 12;
}
