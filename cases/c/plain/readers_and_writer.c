//@ expect: real
//@ stages: hunt scan
// Three readers stand against one writer: all readers that wait at the statement are one side.
#include <pthread.h>

int setting = 1;

static void *reader(void *arg) {
    (void)arg;
    return (void *)(long)setting; // RACE!(a)
}

static void *writer(void *arg) {
    setting = 2; // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t[4];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, reader, 0);
    pthread_create(&t[3], 0, writer, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], 0);
    return setting != 2;
}
