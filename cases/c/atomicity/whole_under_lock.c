//@ expect: real
// The update is made under the lock by both; only the look at it is not, and that harms nobody.
#include <assert.h>
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int counter;
volatile int seen;

static void *count(void *arg) {
    pthread_mutex_lock(&lock);
    counter++; // RACE!(look)
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *look(void *arg) {
    seen = counter; // RACE!(look)
    return arg;
}

int main(void) {
    pthread_t t, u, v;
    pthread_create(&t, 0, count, 0);
    pthread_create(&u, 0, count, 0);
    pthread_create(&v, 0, look, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    pthread_join(v, 0);
    assert(counter == 2 && seen >= 0);
    return 0;
}
