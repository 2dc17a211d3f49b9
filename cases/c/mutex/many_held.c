//@ expect: none
// One thread holds 130 mutexes at once: locksets have no bound. (Clang's TSan fails internally and
// hangs here.)
#include <pthread.h>

#define N 130
pthread_mutex_t locks[N];
int counter;

static void *all(void *arg) {
    for (int i = 0; i < N; i++)
        pthread_mutex_lock(&locks[i]);
    counter++;
    for (int i = 0; i < N; i++)
        pthread_mutex_unlock(&locks[i]);
    return arg;
}

static void *last(void *arg) {
    pthread_mutex_lock(&locks[N - 1]);
    counter++;
    pthread_mutex_unlock(&locks[N - 1]);
    return arg;
}

int main(void) {
    pthread_t t, u;
    for (int i = 0; i < N; i++)
        pthread_mutex_init(&locks[i], 0);
    pthread_create(&t, 0, all, 0);
    pthread_create(&u, 0, last, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return counter != 2;
}
