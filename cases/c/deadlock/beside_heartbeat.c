//@ expect: deadlock
// Two threads wait for each other for ever while a third, which nobody joins, wakes up time and again.
#include <pthread.h>
#include <unistd.h>

pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
int x;

static void *heartbeat(void *arg) {
    for (;;)
        usleep(1000);
    return arg;
}

static void *forwards(void *arg) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b); // RACE!(ring)
    x++;
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return arg;
}

static void *backwards(void *arg) {
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a); // RACE!(ring)
    x++;
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return arg;
}

int main(void) {
    pthread_t h, t, u;
    pthread_create(&h, 0, heartbeat, 0);
    pthread_detach(h);
    pthread_create(&t, 0, forwards, 0);
    pthread_create(&u, 0, backwards, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return x != 2;
}
