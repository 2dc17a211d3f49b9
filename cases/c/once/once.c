//@ expect: none
//@ stages: hunt scan
// pthread_once: whoever comes second finds the table ready.
#include <pthread.h>

pthread_once_t once = PTHREAD_ONCE_INIT;
int table[4];

static void fill(void) {
    for (int i = 0; i < 4; i++)
        table[i] = i * i;
}

static void *worker(void *arg) {
    (void)arg;
    pthread_once(&once, fill);
    return (void *)(long)table[3];
}

int main(void) {
    pthread_t t, u;
    void *r, *s;
    pthread_create(&t, 0, worker, 0);
    pthread_create(&u, 0, worker, 0);
    pthread_join(t, &r);
    pthread_join(u, &s);
    return (long)r != 9 || (long)s != 9;
}
