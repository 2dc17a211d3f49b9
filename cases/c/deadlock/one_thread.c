//@ expect: none
// One thread takes two locks in either order, one after the other; the other thread takes one at a time.
#include <pthread.h>

pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
int x, y;

static void both(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    x++, y++;
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static void *either(void *arg) {
    both(&a, &b);
    both(&b, &a);
    return arg;
}

static void *one(void *arg) {
    pthread_mutex_lock(&a);
    x++;
    pthread_mutex_unlock(&a);
    pthread_mutex_lock(&b);
    y++;
    pthread_mutex_unlock(&b);
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, either, 0);
    pthread_create(&u, 0, one, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return x != 3 || y != 3;
}
