//@ expect: atomicity
// What is lost is an update that atomic operations make in two steps. Between the steps the threads store to `noted`, which
// races and does no harm: made the other way round, with nothing else changed, the update is lost as well.
#include <pthread.h>
#include <stdatomic.h>

int noted;
static atomic_int sum;

static void *adds(void *a)
{
    noted = 1; // RACE!(a) RACE!(b)
    int seen = atomic_load(&sum);
    noted = 1; // RACE!(a) RACE!(c)
    atomic_store(&sum, seen + 1);
    return a;
}

int main(void)
{
    pthread_t t, u;
    pthread_create(&t, 0, adds, 0);
    pthread_create(&u, 0, adds, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return sum == 2 ? 0 : 3;
}
