//@ expect: real
//@ stages: scan
// Taken in one function, given back in another: what stands between is guarded, what follows is not.
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int guarded, bare;

static void enter(void) { pthread_mutex_lock(&lock); }
static void leave(void) { pthread_mutex_unlock(&lock); }

static void *worker(void *arg) {
    enter();
    guarded++;
    leave();
    bare++; // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
