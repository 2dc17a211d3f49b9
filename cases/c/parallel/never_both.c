//@ expect: real
//@ stages: scan
// In each round one kind of worker runs, and is over before the next: the two kinds never meet, the last meets its creator.
#include <pthread.h>

int shared, both;

static void *reader(void *arg) {
    shared++;
    return arg;
}

static void *writer(void *arg) {
    both++; // RACE!(a)
    shared--;
    return arg;
}

int main(int argc, char **argv) {
    pthread_t a;
    for (int round = 0; round < 2; round++) {
        if (argc > round) {
            pthread_create(&a, 0, reader, argv);
            pthread_join(a, 0);
        } else {
            pthread_create(&a, 0, writer, argv);
            pthread_join(a, 0);
        }
    }
    pthread_create(&a, 0, writer, argv);
    both++; // RACE!(a)
    pthread_join(a, 0);
    return 0;
}
