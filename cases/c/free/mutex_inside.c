//@ expect: harmful(use-after-free)
// An object goes with the mutex that protects it, while another thread is about to take that.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct account {
    pthread_mutex_t lock;
    long balance;
} *account;

static void *deposit(void *arg) {
    struct account *a = account; // RACE!(pointer)
    if (a) {
        pthread_mutex_lock(&a->lock); // CAN(hunt:held) just after the closer gave it back
        a->balance += 5; // CAN(hunt:a) likewise
        pthread_mutex_unlock(&a->lock);
    }
    return arg;
}

static void *closer(void *arg) {
    struct account *a = account;
    account = 0; // RACE!(pointer)
    pthread_mutex_lock(&a->lock);
    a->balance = 0;
    pthread_mutex_unlock(&a->lock);
    free(a); // CAN(hunt:held) CAN(hunt:a) likewise
    return arg;
}

int main(void) {
    pthread_t t, u;
    account = calloc(1, sizeof *account);
    pthread_create(&t, 0, deposit, 0);
    usleep(2000); // the ordinary run is well
    pthread_create(&u, 0, closer, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
