//@ expect: real
//@ stages: hunt scan
// The fields of a heap block that both threads know: one raced over, one not.
#include <pthread.h>
#include <stdlib.h>

struct account {
    long balance;
    long limit;
};

static void *deposit(void *arg) {
    struct account *a = arg;
    a->balance = a->limit + 5; // RACE!(a)
    return 0;
}

static void *statement(void *arg) {
    struct account *a = arg;
    return (void *)a->balance; // RACE!(a)
}

int main(void) {
    struct account *a = malloc(sizeof *a);
    pthread_t t, u;
    if (!a)
        return 0;
    a->balance = 10;
    a->limit = 100;
    pthread_create(&t, 0, deposit, a);
    pthread_create(&u, 0, statement, a);
    pthread_join(t, 0);
    pthread_join(u, 0);
    free(a);
    return 0;
}
