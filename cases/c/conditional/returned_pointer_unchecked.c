//@ expect: real misuse
//@ stages: scan
// The same, but used before it is checked.
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct info {
    int users;
} infos[2], none;

static struct info *get(int entry) {
    if (entry < 0)
        return &none;
    pthread_mutex_lock(&lock);
    return &infos[entry & 1];
}

static void *worker(void *arg) {
    struct info *p = get(*(int *)arg);
    p->users++; // RACE!(a)
    pthread_mutex_unlock(&lock);
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
