//@ expect: none
// A process dies by a signal with a robust mutex held, another ends with one: whoever takes them next is told.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct shared {
    pthread_mutex_t first, second;
};

int main(void) {
    struct shared *s = mmap(0, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t m;
    int status, ready[2];
    char byte;
    pthread_mutexattr_init(&m);
    pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&m, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&s->first, &m);
    pthread_mutex_init(&s->second, &m);
    if (pipe(ready))
        return 1;
    pid_t killed = fork();
    if (killed == 0) {
        pthread_mutex_lock(&s->first);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    pid_t ends = fork();
    if (ends == 0) {
        pthread_mutex_lock(&s->second);
        _exit(0);
    }
    if (read(ready[0], &byte, 1) != 1)
        return 1;
    kill(killed, SIGKILL);
    int one = pthread_mutex_lock(&s->first);
    waitpid(ends, &status, 0);
    int two = pthread_mutex_lock(&s->second);
    waitpid(killed, &status, 0);
    if (one != EOWNERDEAD || two != EOWNERDEAD)
        return 2;
    pthread_mutex_consistent(&s->first);
    return pthread_mutex_unlock(&s->first) | pthread_mutex_lock(&s->first) | pthread_mutex_unlock(&s->first);
}
