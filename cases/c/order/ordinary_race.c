//@ expect: harmful(assert)
// The plain order of the racing pair fails in every ordinary run, the other ends well: harm is laid to the pair.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int ready, work;

static void *prepare(void *arg) {
    ready = 1; // RACE!(ready)
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, prepare, 0);
    for (int i = 0; i < 8; i++) {
        pthread_mutex_lock(&mutex);
        work++;
        pthread_mutex_unlock(&mutex);
    }
    assert(ready == 1); // RACE!(ready)
    pthread_join(t, 0);
    return 0;
}
