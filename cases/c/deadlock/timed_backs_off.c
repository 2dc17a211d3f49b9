//@ expect: none
// Opposite orders, but one side waits with a time limit and gives up.
#include <pthread.h>
#include <time.h>

pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
int x;

static void *waits(void *arg) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    x++;
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return arg;
}

static void *gives_up(void *arg) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    pthread_mutex_lock(&b);
    if (pthread_mutex_timedlock(&a, &until) == 0) {
        x++;
        pthread_mutex_unlock(&a);
    }
    pthread_mutex_unlock(&b);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, waits, 0);
    pthread_create(&u, 0, gives_up, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return x < 1;
}
