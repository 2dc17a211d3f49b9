// The C half of guarded.rs and bare.rs.
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void add_guarded(long *total, long n)
{
    pthread_mutex_lock(&lock);
    *total += n;
    pthread_mutex_unlock(&lock);
}

void add_bare(long *total, long n) { *total += n; }
