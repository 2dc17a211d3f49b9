//@ expect: none
// The main threads of two processes have the same number, and neither is taken for the other: an error-checking mutex, a
// recursive one and a read-write lock make them wait and not fail.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct shared {
    pthread_mutex_t checks, recurs;
    pthread_rwlock_t lock;
    int sum;
};

static int work(struct shared *s) {
    int failed = 0;
    for (int i = 0; i < 5; i++) {
        failed |= pthread_mutex_lock(&s->checks) | pthread_mutex_lock(&s->recurs) | pthread_mutex_lock(&s->recurs);
        failed |= pthread_rwlock_wrlock(&s->lock);
        int sum = s->sum;
        usleep(100);
        s->sum = sum + 1;
        failed |= pthread_rwlock_unlock(&s->lock) | pthread_rwlock_rdlock(&s->lock) | pthread_rwlock_unlock(&s->lock);
        failed |= pthread_mutex_unlock(&s->recurs) | pthread_mutex_unlock(&s->recurs) | pthread_mutex_unlock(&s->checks);
    }
    return failed;
}

int main(void) {
    struct shared *s = mmap(0, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t m;
    pthread_rwlockattr_t r;
    int status;
    pthread_mutexattr_init(&m);
    pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_settype(&m, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&s->checks, &m);
    pthread_mutexattr_settype(&m, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&s->recurs, &m);
    pthread_rwlockattr_init(&r);
    pthread_rwlockattr_setpshared(&r, PTHREAD_PROCESS_SHARED);
    pthread_rwlock_init(&s->lock, &r);
    pid_t child = fork();
    int failed = work(s);
    if (child == 0)
        _exit(failed != 0);
    waitpid(child, &status, 0);
    return failed || status || s->sum != 10;
}
