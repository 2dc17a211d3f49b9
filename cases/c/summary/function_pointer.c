//@ expect: real
//@ stages: scan
// Called through a table: under the lock in one thread only.
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int value;

static void change(void) {
    value++; // RACE!(a)
}
static void (*const table[1])(void) = {change};

static void *careful(void *arg) {
    pthread_mutex_lock(&lock);
    table[0]();
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *careless(void *arg) {
    table[0]();
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, careful, 0);
    pthread_create(&u, 0, careless, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
