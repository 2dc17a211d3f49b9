//@ expect: real
//@ stages: hunt scan
// One thread forgets to call pthread_once before it reads.
#include <pthread.h>

pthread_once_t once = PTHREAD_ONCE_INIT;
int setting;

static void init(void) {
    setting = 6; // RACE!(a)
}

static void *proper(void *arg) {
    (void)arg;
    pthread_once(&once, init);
    return (void *)(long)setting;
}

static void *hasty(void *arg) {
    (void)arg;
    return (void *)(long)setting; // RACE!(a)
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, proper, 0);
    pthread_create(&u, 0, hasty, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return setting != 6;
}
