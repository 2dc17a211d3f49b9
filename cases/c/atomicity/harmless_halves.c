//@ expect: none
// Two critical sections for what could be one, and no harm in it: the second looks again.
#include <assert.h>
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int sold;

static void *book(void *arg) {
    pthread_mutex_lock(&lock);
    int is_free = sold < 1;
    pthread_mutex_unlock(&lock);
    if (is_free) {
        pthread_mutex_lock(&lock);
        if (sold < 1)
            sold++;
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, book, 0);
    pthread_create(&u, 0, book, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    assert(sold == 1);
    return 0;
}
