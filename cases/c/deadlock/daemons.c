//@ expect: none
// Threads that wait for work for ever when the program ends: on a condition variable, on a lock that the main thread
// holds, and with a time limit over and over.
#include <pthread.h>
#include <time.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, kept = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t work = PTHREAD_COND_INITIALIZER;
int jobs;

static void *for_work(void *arg) {
    pthread_mutex_lock(&lock);
    while (!jobs)
        pthread_cond_wait(&work, &lock);
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *for_lock(void *arg) {
    pthread_mutex_lock(&kept);
    pthread_mutex_unlock(&kept);
    return arg;
}

static void *for_time(void *arg) {
    pthread_mutex_lock(&lock);
    while (!jobs) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 1;
        pthread_cond_timedwait(&work, &lock, &until);
    }
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t t[3];
    pthread_mutex_lock(&kept);
    pthread_create(&t[0], 0, for_work, 0);
    pthread_create(&t[1], 0, for_lock, 0);
    pthread_create(&t[2], 0, for_time, 0);
    for (int i = 0; i < 3; i++)
        pthread_detach(t[i]);
    nanosleep(&(struct timespec){0, 1000000}, 0);
    return 0;
}
