// Defines a function of the C library's that the runtime stands in front of.
#include <pthread.h>

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    return pthread_mutex_trylock(mutex);
}

int main(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    return pthread_mutex_lock(&mutex);
}
