//@ expect: real
// The hand-over of a pthread spin lock hides a race as that of a mutex does.
#include <pthread.h>

pthread_spinlock_t lock;
int shared, guarded;

static void *before(void *arg) {
    shared = 1; // RACE!(a)
    pthread_spin_lock(&lock);
    guarded++;
    pthread_spin_unlock(&lock);
    return arg;
}

static void *after(void *arg) {
    pthread_spin_lock(&lock);
    guarded++;
    pthread_spin_unlock(&lock);
    shared = 2; // RACE!(a)
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&t, 0, before, 0);
    pthread_create(&u, 0, after, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return shared == 0 || guarded != 2;
}
