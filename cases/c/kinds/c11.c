//@ expect: none
//@ stages: scan
// The locks and threads of C11.
#include <threads.h>
mtx_t lock;
int value;

static int worker(void *arg) {
    mtx_lock(&lock);
    value++;
    mtx_unlock(&lock);
    return arg != 0;
}

int main(void) {
    thrd_t t, u;
    mtx_init(&lock, mtx_plain);
    thrd_create(&t, worker, 0);
    thrd_create(&u, worker, 0);
    thrd_join(t, 0);
    thrd_join(u, 0);
    return value != 2;
}
