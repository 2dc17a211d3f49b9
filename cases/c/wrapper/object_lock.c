//@ expect: none
//@ stages: scan
// Wrappers that lock an object.
#include <pthread.h>

struct account {
    int balance;
    pthread_mutex_t lock;
} accounts[2] = {{0, PTHREAD_MUTEX_INITIALIZER}, {0, PTHREAD_MUTEX_INITIALIZER}};

static void account_lock(struct account *a) { pthread_mutex_lock(&a->lock); }
static void account_unlock(struct account *a) { pthread_mutex_unlock(&a->lock); }

static void *worker(void *arg) {
    struct account *mine = arg;
    account_lock(mine);
    mine->balance++;
    account_unlock(mine);
    return 0;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, &accounts[0]);
    pthread_create(&u, 0, worker, &accounts[0]);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
