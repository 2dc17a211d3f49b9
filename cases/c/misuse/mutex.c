//@ expect: misuse
// What a mutex must not be: given back twice or by another thread, destroyed or freed while it is held, used after it was
// destroyed, kept by a thread that ends.
#include <pthread.h>
#include <stdlib.h>

struct account {
    pthread_mutex_t lock;
    int balance;
};

pthread_mutex_t twice = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t dead = PTHREAD_MUTEX_INITIALIZER, kept = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t counted;
int balance;

static void *other(void *arg) {
    pthread_mutex_unlock(&counted); // RACE!(counted)
    pthread_mutex_lock(&kept); // RACE!(kept)
    return arg;
}

static void release(struct account *a) {
    pthread_mutex_lock(&a->lock); // RACE!(freed)
    balance += a->balance;
    free(a); // RACE!(freed)
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&counted, &attributes);
    pthread_mutex_lock(&counted); // RACE!(counted)
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    pthread_join(t, 0);
    pthread_mutex_unlock(&counted);

    pthread_mutex_lock(&twice);
    pthread_mutex_unlock(&twice);
    pthread_mutex_unlock(&twice); // RACE!(twice)
    pthread_mutex_lock(&held); // RACE!(held)
    pthread_mutex_destroy(&held); // RACE!(held)
    pthread_mutex_unlock(&held);
    pthread_mutex_destroy(&dead);
    pthread_mutex_lock(&dead); // RACE!(dead)

    struct account *a = calloc(1, sizeof *a);
    pthread_mutex_init(&a->lock, 0);
    release(a);
    return 0;
}
