//@ expect: deadlock
// A thread that finds the list empty calls a function that takes the lock which it holds already.
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int items = 1;

static void refill(void) {
    pthread_mutex_lock(&lock); // RACE!(itself)
    items += 2;
    pthread_mutex_unlock(&lock);
}

static void *take(void *arg) {
    pthread_mutex_lock(&lock);
    if (items == 0)
        refill();
    items--;
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *add(void *arg) {
    pthread_mutex_lock(&lock);
    items++;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t t, u, v;
    pthread_create(&t, 0, take, 0);
    pthread_create(&u, 0, add, 0);
    pthread_create(&v, 0, take, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    pthread_join(v, 0);
    return 0;
}
