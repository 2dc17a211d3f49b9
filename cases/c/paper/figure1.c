//@ expect: real
// RaceFuzzer (PLDI 2008), figure 1. The accesses to z race. Those to x hold no common lock, but
// thread 2 reaches its access only after it saw y == 1, so they never meet.
#include <pthread.h>
#include <stdio.h>

int x, y, z;
pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;

static void *thread1(void *arg) {
    x = 1; // WARN(hunt:x) statement 1; ordered by y
    pthread_mutex_lock(&l);
    y = 1;
    pthread_mutex_unlock(&l);
    if (z == 1) // RACE!(z) statement 5
        puts("ERROR1");
    return arg;
}

static void *thread2(void *arg) {
    z = 1; // RACE!(z) statement 7
    pthread_mutex_lock(&l);
    if (y == 1) {
        if (x != 1) // WARN(hunt:x) statement 10; ordered by y
            puts("ERROR2");
    }
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
