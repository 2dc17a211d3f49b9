//@ expect: harmful(use-after-free)
// A session is looked up under the lock and used outside of it; its owner closes it meanwhile. Nothing crashes.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct session {
    long user, bytes;
} *session;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
volatile long total;

static void *request(void *arg) {
    pthread_mutex_lock(&lock);
    struct session *s = session;
    pthread_mutex_unlock(&lock);
    if (s)
        total = s->bytes; // RACE!(a)
    return arg;
}

static void *closer(void *arg) {
    pthread_mutex_lock(&lock);
    struct session *s = session;
    session = 0;
    pthread_mutex_unlock(&lock);
    free(s); // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t, u;
    session = calloc(1, sizeof *session);
    pthread_create(&t, 0, request, 0);
    usleep(2000); // the ordinary run is well
    pthread_create(&u, 0, closer, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
