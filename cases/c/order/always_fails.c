//@ expect: crash
// Fails whatever the order: that is laid to no schedule, and is what the program does by itself.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int done;

static void *work(void *arg) {
    pthread_mutex_lock(&mutex);
    done++;
    pthread_mutex_unlock(&mutex);
    return arg;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, work, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(done == 3);
    return 0;
}
