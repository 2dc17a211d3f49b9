//@ expect: real
// A string function reads up to the NUL that another thread overwrites.
#include <pthread.h>
#include <string.h>

char name[32] = "deadheat";

static void *measure(void *arg) {
    (void)arg;
    return (void *)strlen(name); // RACE!(a)
}

static void *extend(void *arg) {
    name[8] = 's'; // RACE!(a)
    name[20] = 't';
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, measure, 0);
    pthread_create(&u, 0, extend, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
