//@ expect: atomicity
// Each of two threads tests under the lock whether the block is there, and frees it outside: no two accesses to `there`
// race, and the block is freed twice.
#include <pthread.h>
#include <stdlib.h>

char *block;
int there = 1;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *drop(void *arg) {
    pthread_mutex_lock(&lock);
    int mine = there;
    pthread_mutex_unlock(&lock);
    if (mine) {
        free(block);
        pthread_mutex_lock(&lock);
        there = 0;
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

int main(void) {
    pthread_t t, u;
    block = malloc(5000);
    pthread_create(&t, 0, drop, 0);
    pthread_create(&u, 0, drop, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
