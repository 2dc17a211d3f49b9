//@ expect: none
// Two processes take turns by a mutex and a condition variable in shared memory.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct shared {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int turn, sum;
};

static void play(struct shared *s, int own) {
    for (int i = 0; i < 5; i++) {
        pthread_mutex_lock(&s->lock);
        while (s->turn != own)
            pthread_cond_wait(&s->changed, &s->lock);
        s->sum += own + 1;
        s->turn = !own;
        pthread_cond_signal(&s->changed);
        pthread_mutex_unlock(&s->lock);
    }
}

int main(void) {
    struct shared *s = mmap(0, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t m;
    pthread_condattr_t c;
    int status;
    pthread_mutexattr_init(&m);
    pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&s->lock, &m);
    pthread_condattr_init(&c);
    pthread_condattr_setpshared(&c, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&s->changed, &c);
    pid_t child = fork();
    play(s, child == 0);
    if (child == 0)
        _exit(0);
    waitpid(child, &status, 0);
    return status || s->sum != 15;
}
