//@ expect: none
//@ stages: scan
// RELAY's figure 11: null without the lock, or an object with it.
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct info {
    int users;
} infos[2];

static struct info *get(int entry) {
    if (entry < 0)
        return 0;
    pthread_mutex_lock(&lock);
    return &infos[entry & 1];
}

static void *worker(void *arg) {
    struct info *p = get(*(int *)arg);
    if (p) {
        p->users++;
        pthread_mutex_unlock(&lock);
    }
    return 0;
}
int entry = 1;

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, &entry);
    pthread_create(&u, 0, worker, &entry);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
