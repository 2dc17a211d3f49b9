//@ expect: none
// Two threads of the parent and one of the child meet at a barrier in shared memory, twice. What the parent's threads do
// between is theirs to order.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct shared {
    pthread_barrier_t meet;
    int part[3];
} *s;
int both, total;

static void *worker(void *arg) {
    s->part[1] = 2;
    pthread_barrier_wait(&s->meet);
    both++; // CAN(hunt:a) who meets whom is up to the other process, in real time
    pthread_barrier_wait(&s->meet);
    return arg;
}

int main(void) {
    s = mmap(0, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_t b;
    pthread_t t;
    int status;
    pthread_barrierattr_init(&b);
    pthread_barrierattr_setpshared(&b, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&s->meet, &b, 3);
    pid_t child = fork();
    if (child == 0) {
        s->part[2] = 3;
        pthread_barrier_wait(&s->meet);
        pthread_barrier_wait(&s->meet);
        _exit(s->part[0] + s->part[1] != 3);
    }
    pthread_create(&t, 0, worker, 0);
    s->part[0] = 1;
    pthread_barrier_wait(&s->meet);
    total = s->part[1] + s->part[2];
    both += 2; // CAN(hunt:a) likewise
    pthread_barrier_wait(&s->meet);
    pthread_join(t, 0);
    waitpid(child, &status, 0);
    return status || total != 5 || both > 3;
}
