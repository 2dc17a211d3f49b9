//@ expect: none
//@ stages: scan
// The lock is a field of what the argument points to, two calls deep.
#include <pthread.h>

struct inner {
    pthread_mutex_t lock;
    int value;
};
struct outer {
    struct inner *inner;
} box;
struct inner inner = {PTHREAD_MUTEX_INITIALIZER, 0};

static void deep(struct inner *in) { in->value++; }

static void change(struct outer *out) {
    pthread_mutex_lock(&out->inner->lock);
    deep(out->inner);
    pthread_mutex_unlock(&out->inner->lock);
}

static void *worker(void *arg) {
    change(arg);
    return 0;
}

int main(void) {
    pthread_t t, u;
    box.inner = &inner;
    pthread_create(&t, 0, worker, &box);
    pthread_create(&u, 0, worker, &box);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
