//@ expect: atomicity
// The last element is asked for after the list was seen to have one; the other thread takes it in between.
#include <pthread.h>
#include <stdlib.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int *items[4], count;

static int size(void) {
    pthread_mutex_lock(&lock);
    int n = count;
    pthread_mutex_unlock(&lock);
    return n;
}

static int *take(void) {
    pthread_mutex_lock(&lock);
    int *item = count > 0 ? items[--count] : 0;
    pthread_mutex_unlock(&lock);
    return item;
}

static void *work(void *arg) {
    if (size() > 0)
        *take() += 1;
    return arg;
}

int main(void) {
    static int item;
    pthread_t t, u;
    items[count++] = &item;
    pthread_create(&t, 0, work, 0);
    pthread_create(&u, 0, work, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
