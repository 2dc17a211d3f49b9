//@ expect: real
//@ stages: hunt scan
// A structure assignment reads every field of its source.
#include <pthread.h>

struct config {
    long values[12];
    long version;
} current, snapshot;

static void *take(void *arg) {
    snapshot = current; // RACE!(a)
    return arg;
}

static void *bump(void *arg) {
    current.version++; // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, take, 0);
    pthread_create(&u, 0, bump, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return snapshot.version > 1;
}
