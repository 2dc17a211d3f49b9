//@ expect: none
// Opposite orders, but one side only tries, and gives back what it has.
#include <pthread.h>
#include <sched.h>

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

static void *tries(void *arg) {
    for (;;) {
        pthread_mutex_lock(&b);
        if (pthread_mutex_trylock(&a) == 0)
            break;
        pthread_mutex_unlock(&b);
        sched_yield();
    }
    x++;
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, waits, 0);
    pthread_create(&u, 0, tries, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return x != 2;
}
