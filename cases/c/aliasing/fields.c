//@ expect: none
//@ stages: scan
// Two fields of one object, each with its own lock.
#include <pthread.h>

struct pair {
    pthread_mutex_t a_lock, b_lock;
    int a, b;
} pair = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, 0, 0};

static void *first(void *arg) {
    struct pair *p = arg;
    pthread_mutex_lock(&p->a_lock);
    p->a++;
    pthread_mutex_unlock(&p->a_lock);
    return 0;
}

static void *second(void *arg) {
    struct pair *p = arg;
    pthread_mutex_lock(&p->b_lock);
    p->b++;
    pthread_mutex_unlock(&p->b_lock);
    return 0;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, first, &pair);
    pthread_create(&u, 0, second, &pair);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
