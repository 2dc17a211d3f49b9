//@ expect: real
//@ levels: O1 the same at each, and a long one
// Those who poll for a lock, and give way between, say nothing of the one that has it: it still works.
#include <pthread.h>
#include <sched.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int work, other;

static void *polls(void *p)
{
    other++; // RACE!(a) RACE!(b)
    while (pthread_mutex_trylock(&mutex))
        sched_yield();
    pthread_mutex_unlock(&mutex);
    return p;
}

int main(void)
{
    pthread_t threads[2];
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, polls, 0);
    for (int i = 0; i < 300; i++)
        work += __atomic_load_n(&other, __ATOMIC_RELAXED) + i; // RACE!(a)
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
