//@ expect: harmful(segv)
// The pointer is tested, then taken away by another thread, then used.
#include <pthread.h>

struct session {
    int id;
} only = {7};
struct session *volatile current = &only;

static void *user(void *arg) {
    (void)arg;
    if (current) { // RACE!(test)
        return (void *)(long)current->id; // RACE!(use)
    }
    return 0;
}

static void *closer(void *arg) {
    current = 0; // RACE!(test) RACE!(use)
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, user, 0);
    pthread_join(t, 0);
    current = &only;
    pthread_create(&t, 0, user, 0);
    pthread_create(&u, 0, closer, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
