//@ expect: none
// What orders two threads lies in another process: one semaphore wakes the child, which posts the other.
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

sem_t *there, *back;
int data;

static void *writer(void *arg) {
    data = 7; // MAY(hunt:a) the order goes through the child
    sem_post(there);
    return arg;
}

int main(void) {
    there = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    back = there + 1;
    sem_init(there, 1, 0);
    sem_init(back, 1, 0);
    pid_t child = fork();
    if (child == 0) {
        sem_wait(there);
        sem_post(back);
        _exit(0);
    }
    pthread_t t;
    pthread_create(&t, 0, writer, 0);
    sem_wait(back);
    int seen = data; // MAY(hunt:a) the order goes through the child
    pthread_join(t, 0);
    waitpid(child, 0, 0);
    return seen != 7;
}
