/* Matrix multiply: two threads, each computes half of the rows. Long counted loops over doubles, no locks. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 640, ROUNDS = 6, THREADS = 2 };

static double *left, *right, *product;

static void *multiply(void *argument) {
    long self = (long)argument;
    for (long i = self * SIZE / THREADS; i < (self + 1) * SIZE / THREADS; i++)
        for (long k = 0; k < SIZE; k++) {
            double factor = left[i * SIZE + k]; /* PAIR */
            for (long j = 0; j < SIZE; j++)
                product[i * SIZE + j] += factor * right[k * SIZE + j];
        }
    return NULL;
}

int main(void) {
    left = malloc(SIZE * SIZE * sizeof *left);
    right = malloc(SIZE * SIZE * sizeof *right);
    product = calloc(SIZE * SIZE, sizeof *product);
    for (long i = 0; i < SIZE * SIZE; i++) {
        left[i] = i % 7; /* PAIR */
        right[i] = i % 5;
    }
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        for (long t = 0; t < THREADS; t++)
            pthread_create(&threads[t], NULL, multiply, (void *)t);
        for (int t = 0; t < THREADS; t++)
            pthread_join(threads[t], NULL);
    }
    double sum = 0;
    for (long i = 0; i < SIZE * SIZE; i++)
        sum += product[i];
    printf("%.0f\n", sum);
    return 0;
}
