//@ expect: real
//@ stages: hunt scan
// The parent goes on filling in the argument after the thread was created.
#include <pthread.h>
#include <stdlib.h>

struct job {
    int size, kind;
};

static void *worker(void *arg) {
    struct job *j = arg;
    long sum = j->size;
    sum += j->kind; // RACE!(a)
    return (void *)sum;
}

int main(void) {
    struct job *j = calloc(1, sizeof *j);
    pthread_t t;
    if (!j)
        return 0;
    j->size = 4;
    pthread_create(&t, 0, worker, j);
    j->kind = 2; // RACE!(a)
    pthread_join(t, 0);
    free(j);
    return 0;
}
