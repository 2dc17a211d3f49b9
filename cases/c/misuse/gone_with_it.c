//@ expect: misuse
//@ levels: O1 what the calls do is the same at each
// A thread ends with a lock on its stack that another holds; a process ends with a lock that its parent waits for.
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

pthread_barrier_t met;
pthread_mutex_t *_Atomic lent;

static void *lends(void *arg) {
    pthread_mutex_t own;
    pthread_mutex_init(&own, 0);
    lent = &own;
    pthread_barrier_wait(&met);
    pthread_barrier_wait(&met);
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_barrier_init(&met, 0, 2);
    pthread_create(&t, 0, lends, 0);
    pthread_barrier_wait(&met);
    pthread_mutex_lock(lent); // RACE!(stack)
    pthread_barrier_wait(&met);
    pthread_join(t, 0);

    pthread_mutex_t *shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(shared, &attributes);
    if (fork() == 0) {
        pthread_mutex_lock(shared); // RACE!(process)
        _exit(0);
    }
    wait(0);
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    return pthread_mutex_timedlock(shared, &soon) != ETIMEDOUT;
}
