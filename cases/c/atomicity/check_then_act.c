//@ expect: atomicity
// The seat is found free in one critical section and taken in another.
#include <assert.h>
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int taken_by[3], sold;

static void *book(void *arg) {
    pthread_mutex_lock(&lock);
    int is_free = sold < 1;
    pthread_mutex_unlock(&lock);
    if (is_free) {
        pthread_mutex_lock(&lock);
        taken_by[sold++] = (int)(long)arg;
        pthread_mutex_unlock(&lock);
    }
    return 0;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, book, (void *)1);
    pthread_create(&u, 0, book, (void *)2);
    pthread_join(t, 0);
    pthread_join(u, 0);
    assert(sold == 1);
    return 0;
}
