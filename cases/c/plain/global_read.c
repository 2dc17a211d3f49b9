//@ expect: real
//@ stages: hunt scan
// One thread writes a global variable, another reads it; main's accesses are ordered.
#include <pthread.h>

int value;

static void *writer(void *arg) {
    value = 7; // RACE!(a)
    return arg;
}

static void *reader(void *arg) {
    (void)arg;
    return (void *)(long)value; // RACE!(a)
}

int main(void) {
    pthread_t t, u;
    value = 1;
    pthread_create(&t, 0, writer, 0);
    pthread_create(&u, 0, reader, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return value != 7;
}
