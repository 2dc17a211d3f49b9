//@ expect: none
// The main thread reads the clock every ten milliseconds, and gives up ten seconds after the start. The others have
// little to do, and nobody is kept from doing it for so long.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int total;
atomic_int done;

static void *work(void *arg) {
    for (long i = 0; i < (long)arg; i++) {
        pthread_mutex_lock(&lock);
        total++;
        pthread_mutex_unlock(&lock);
    }
    done++;
    return 0;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, work, (void *)5);
    pthread_create(&u, 0, work, (void *)50);
    time_t start = time(0);
    while (done < 2) {
        if (time(0) - start > 10) {
            fputs("not done within ten seconds\n", stderr);
            return 1;
        }
        usleep(10000);
    }
    pthread_join(t, 0);
    pthread_join(u, 0);
    printf("%d\n", total);
    return 0;
}
