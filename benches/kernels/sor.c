/* Successive over-relaxation on a grid: two threads, a barrier after each sweep. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 1000, SWEEPS = 500, THREADS = 2 };

static double *grid, *other;
static pthread_barrier_t swept;

static void sweep(double *to, const double *from, int first, int last) {
    for (int i = first; i < last; i++)
        for (int j = 1; j < SIZE - 1; j++)
            to[i * SIZE + j] = 0.25 * (from[(i - 1) * SIZE + j] + from[(i + 1) * SIZE + j] + from[i * SIZE + j - 1] +
                                       from[i * SIZE + j + 1]);
}

static void *relax(void *argument) {
    long self = (long)argument;
    int first = 1 + self * (SIZE - 2) / THREADS, last = 1 + (self + 1) * (SIZE - 2) / THREADS;
    double *from = grid, *to = other; /* PAIR */
    for (int k = 0; k < SWEEPS; k++) {
        sweep(to, from, first, last);
        pthread_barrier_wait(&swept);
        double *swap = from;
        from = to;
        to = swap;
    }
    return NULL;
}

int main(void) {
    grid = calloc(SIZE * SIZE, sizeof *grid); /* PAIR */
    other = calloc(SIZE * SIZE, sizeof *other);
    for (int i = 0; i < SIZE; i++)
        grid[i] = other[i] = i;
    pthread_barrier_init(&swept, NULL, THREADS);
    pthread_t threads[THREADS];
    for (long t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, relax, (void *)t);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    double sum = 0;
    for (int i = 0; i < SIZE * SIZE; i++)
        sum += grid[i];
    printf("%.3f\n", sum);
    return 0;
}
