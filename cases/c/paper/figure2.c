//@ expect: real
// RaceFuzzer (PLDI 2008), figure 2. Many statements before statement 8 hide its race from any
// scheduler that does not aim at it.
#include <pthread.h>
#include <stdio.h>

int x;
int shared_work;
volatile int own_work;
pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;

static void work(int n) {
    for (int i = 0; i < n; i++)
        own_work = own_work + i;
}

static void *thread1(void *arg) {
    pthread_mutex_lock(&l);
    work(1000);
    work(1000);
    work(1000);
    work(1000);
    work(1000);
    pthread_mutex_unlock(&l);
    if (x == 0) // RACE!(x) statement 8
        puts("ERROR");
    return arg;
}

static void *thread2(void *arg) {
    x = 1; // RACE!(x) statement 10
    pthread_mutex_lock(&l);
    shared_work++;
    pthread_mutex_unlock(&l);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, thread1, 0);
    pthread_create(&u, 0, thread2, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
