//@ expect: atomicity
// The race does no harm: what the thread read is not looked at. It aborts where `main` has not come to the store yet, which
// races with nothing; whichever way a meeting of the pair goes, other threads go on behind it, and that decides.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static int noted;
static atomic_int step, ready;

static void *notes(void *a)
{
    noted = 1; // RACE!(a)
    atomic_fetch_add(&step, 1);
    return a;
}

static void *checks(void *a)
{
    int seen = noted; // RACE!(a)
    atomic_fetch_add(&step, 1);
    if (atomic_load(&ready) == 0)
        abort();
    return seen ? a : 0;
}

int main(void)
{
    pthread_t t, u;
    pthread_create(&t, 0, notes, 0);
    pthread_create(&u, 0, checks, 0);
    for (int i = 0; i < 3; i++)
        atomic_fetch_add(&step, 1);
    atomic_store(&ready, 1);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
