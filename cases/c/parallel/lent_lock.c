//@ expect: real
//@ stages: scan
// A lock that a creator holds until its thread has been joined keeps others away from what that thread does, if they take it;
// not if it is given back before, and not from the creator.
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int lent, early, own;

static void *other(void *arg) {
    pthread_mutex_lock(&lock);
    lent++;
    early++; // RACE!(a)
    pthread_mutex_unlock(&lock);
    return arg;
}
static void *helper(void *arg) {
    lent++;
    own++; // RACE!(b)
    return arg;
}
static void *forgotten(void *arg) {
    early++; // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t, u, v;
    pthread_create(&t, 0, other, 0);
    pthread_mutex_lock(&lock);
    pthread_create(&u, 0, helper, 0);
    own++; // RACE!(b)
    pthread_join(u, 0);
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    pthread_create(&v, 0, forgotten, 0);
    pthread_mutex_unlock(&lock);
    pthread_join(v, 0);
    pthread_join(t, 0);
    return 0;
}
