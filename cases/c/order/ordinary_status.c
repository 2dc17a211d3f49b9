//@ expect: order
// Every ordinary run ends with status 5, one in which the thread comes first with 0: the 5 is the failure, never the 0.
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int ready;

static void *prepare(void *arg) {
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_mutex_unlock(&mutex);
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, prepare, 0);
    pthread_mutex_lock(&mutex);
    int was = ready;
    pthread_mutex_unlock(&mutex);
    pthread_join(t, 0);
    return was ? 0 : 5;
}
