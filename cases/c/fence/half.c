//@ expect: none
// A fence on one side, an ordered operation on the other, both ways round. Clang's TSan does not model
// stand-alone fences and reports races here.
#include <pthread.h>
#include <stdatomic.h>

atomic_int there, back;
int request, answer;

static void *server(void *arg) {
    while (!atomic_load_explicit(&there, memory_order_acquire))
        ;
    answer = request + 1;
    atomic_store_explicit(&back, 1, memory_order_release);
    return arg;
}

static void *client(void *arg) {
    (void)arg;
    request = 10;
    atomic_thread_fence(memory_order_seq_cst);
    atomic_store_explicit(&there, 1, memory_order_relaxed);
    while (!atomic_load_explicit(&back, memory_order_relaxed))
        ;
    atomic_thread_fence(memory_order_acq_rel);
    return (void *)(long)answer;
}

int main(void) {
    pthread_t t, u;
    void *r;
    pthread_create(&t, 0, client, 0);
    pthread_create(&u, 0, server, 0);
    pthread_join(t, &r);
    pthread_join(u, 0);
    return (long)r != 11;
}
