//@ expect: real
//@ stages: scan
// A call through a table of many functions does what all of them do: each takes the lock.
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int steps[8], guarded, open;

static void take(int n) {
    pthread_mutex_lock(&lock);
    steps[n]++;
}

static void zero(void) { take(0); }
static void one(void) { take(1); }
static void two(void) { take(2); }
static void three(void) { take(3); }
static void four(void) { take(4); }
static void five(void) { take(5); }

static void (*const all[])(void) = {zero, one, two, three, four, five};

static void *worker(void *arg) {
    int n = *(int *)arg;
    all[n % 6]();
    guarded++;
    pthread_mutex_unlock(&lock);
    open++; // RACE!(a)
    return 0;
}

int main(void) {
    pthread_t threads[2];
    int numbers[2] = {5, 11};
    for (int n = 0; n < 2; n++)
        pthread_create(&threads[n], 0, worker, &numbers[n]);
    for (int n = 0; n < 2; n++)
        pthread_join(threads[n], 0);
    return guarded + open > 4;
}
