/* Queue and sort: blocks of numbers go through a bounded queue to two threads that sort them. Ownership is
   handed over by a mutex and condition variables; the work is data-dependent loops over ints. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { NUMBERS = 4096, BLOCKS = 1500, SLOTS = 8, THREADS = 2 };

static int *slots[SLOTS];
static int first, filled, closed;
static unsigned long total;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;

static void put(int *block) {
    pthread_mutex_lock(&mutex);
    while (filled == SLOTS)
        pthread_cond_wait(&not_full, &mutex);
    slots[(first + filled++) % SLOTS] = block;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&mutex);
}

static int *take(void) {
    int *block = NULL;
    pthread_mutex_lock(&mutex);
    while (!filled && !closed) /* PAIR */
        pthread_cond_wait(&not_empty, &mutex);
    if (filled) {
        block = slots[first];
        first = (first + 1) % SLOTS;
        filled--;
        pthread_cond_signal(&not_full);
    }
    pthread_mutex_unlock(&mutex);
    return block;
}

static void sort(int *numbers, int low, int high) {
    while (low < high) {
        int i = low, j = high, pivot = numbers[(low + high) / 2];
        while (i <= j) {
            while (numbers[i] < pivot)
                i++;
            while (numbers[j] > pivot)
                j--;
            if (i <= j) {
                int swap = numbers[i];
                numbers[i++] = numbers[j];
                numbers[j--] = swap;
            }
        }
        if (j - low < high - i) {
            sort(numbers, low, j);
            low = i;
        } else {
            sort(numbers, i, high);
            high = j;
        }
    }
}

static void *consume(void *unused) {
    unsigned long sum = 0;
    for (int *block; (block = take());) {
        sort(block, 0, NUMBERS - 1);
        for (int i = 0; i < NUMBERS; i += 64)
            sum += block[i] * (unsigned long)i;
        free(block);
    }
    pthread_mutex_lock(&mutex);
    total += sum;
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, consume, NULL);
    unsigned random = 12345;
    for (int k = 0; k < BLOCKS; k++) {
        int *block = malloc(NUMBERS * sizeof *block);
        for (int i = 0; i < NUMBERS; i++) {
            random = random * 1103515245 + 12345;
            block[i] = random >> 4;
        }
        put(block);
    }
    pthread_mutex_lock(&mutex);
    closed = 1; /* PAIR */
    pthread_cond_broadcast(&not_empty);
    pthread_mutex_unlock(&mutex);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    printf("%lu\n", total);
    return 0;
}
