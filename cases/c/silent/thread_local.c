//@ expect: none
// Thread-local variables and thread-specific data are each thread's own.
#include <pthread.h>
#include <stdlib.h>

_Thread_local int depth;
_Thread_local long cells[40];
pthread_key_t key;

static void *worker(void *arg) {
    long *own = malloc(sizeof *own);
    pthread_setspecific(key, own);
    if (own)
        *own = (long)arg;
    for (int i = 0; i < 40; i++)
        cells[i] += i;
    depth++;
    own = pthread_getspecific(key);
    return (void *)(depth + cells[39] + (own ? *own : 0));
}

int main(void) {
    pthread_t t, u;
    void *r, *s;
    pthread_key_create(&key, free);
    pthread_create(&t, 0, worker, (void *)1);
    pthread_create(&u, 0, worker, (void *)2);
    pthread_join(t, &r);
    pthread_join(u, &s);
    return (long)r != 41 || (long)s != 42;
}
