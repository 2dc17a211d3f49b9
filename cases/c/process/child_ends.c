//@ expect: none
// A thread waits for what the handler of SIGCHLD gives when the child ends; another polls memory that the child shares.
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static sem_t ended;
static atomic_int *word;

static void handler(int signal)
{
    (void)signal;
    sem_post(&ended);
}

static void *waits(void *p)
{
    while (sem_wait(&ended)) // MAY(hunt:a) who gives is not predicted
        ;
    return p;
}

static void *polls(void *p)
{
    while (!atomic_load(word))
        sched_yield();
    return p;
}

int main(void)
{
    pthread_t t, u;
    sem_init(&ended, 0, 0);
    signal(SIGCHLD, handler);
    word = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        usleep(10000);
        atomic_store(word, 1);
        execlp("sleep", "sleep", "0.01", (char *)0);
        _exit(0);
    }
    pthread_create(&t, 0, waits, 0);
    pthread_create(&u, 0, polls, 0);
    pthread_join(t, 0); // MAY(hunt:a) as above
    pthread_join(u, 0);
    waitpid(child, 0, 0);
    return 0;
}
