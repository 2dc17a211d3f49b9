//@ expect: none
//@ stages: hunt scan
// What nobody writes any more may be read by all.
#include <pthread.h>

int table[64];

static void *sum(void *arg) {
    long s = 0;
    (void)arg;
    for (int i = 0; i < 64; i++)
        s += table[i];
    return (void *)s;
}

int main(void) {
    pthread_t t[3];
    void *r;
    long all = 0;
    for (int i = 0; i < 64; i++)
        table[i] = i;
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, sum, 0);
    for (int i = 0; i < 3; i++) {
        pthread_join(t[i], &r);
        all += (long)r;
    }
    return all != 3 * 2016;
}
