//@ expect: real
// Sleeping long enough orders nothing.
#include <pthread.h>
#include <unistd.h>

int data;

static void *writer(void *arg) {
    data = 1; // RACE!(a)
    return arg;
}

static void *reader(void *arg) {
    (void)arg;
    usleep(3000);
    return (void *)(long)data; // RACE!(a)
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, reader, 0);
    pthread_create(&u, 0, writer, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
