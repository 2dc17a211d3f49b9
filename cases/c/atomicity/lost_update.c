//@ expect: harmful(assert)
// Both threads count in one statement, which reads and writes: an update is lost when they do so at once.
#include <assert.h>
#include <pthread.h>

int counter;

static void *count(void *arg) {
    counter++; // RACE!(update)
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, count, 0);
    pthread_create(&u, 0, count, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    assert(counter == 2);
    return 0;
}
