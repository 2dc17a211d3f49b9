//@ expect: order
// Many threads register under one lock and then announce under another. The last thread fails if it comes between the
// two sections of the first of them, before any other announces: all must be late at the second section together.
#include <assert.h>
#include <pthread.h>

enum { WRITERS = 10 };

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER, board = PTHREAD_MUTEX_INITIALIZER;
int registered, announced;

static void *enter(void *arg) {
    pthread_mutex_lock(&registry);
    registered = 1;
    pthread_mutex_unlock(&registry);
    pthread_mutex_lock(&board);
    announced = 1;
    pthread_mutex_unlock(&board);
    return arg;
}

static void *look(void *arg) {
    pthread_mutex_lock(&registry);
    int known = registered;
    pthread_mutex_unlock(&registry);
    pthread_mutex_lock(&board);
    assert(!known || announced);
    pthread_mutex_unlock(&board);
    return arg;
}

int main(void) {
    pthread_t t[WRITERS + 1];
    for (int i = 0; i < WRITERS; i++)
        pthread_create(&t[i], 0, enter, 0);
    pthread_create(&t[WRITERS], 0, look, 0);
    for (int i = 0; i <= WRITERS; i++)
        pthread_join(t[i], 0);
    return 0;
}
