//@ expect: none
// A pool hands out pieces of its own chunks and takes them back; blocks grow, shrink and are aligned; a child process
// and handlers free at exit.
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

union piece {
    union piece *next;
    char bytes[48];
} *pool;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
char *late;

static void *work(void *arg) {
    for (int i = 0; i < 40; i++) {
        char *block = malloc(24);
        strcpy(block, "grows, and keeps this");
        for (size_t size = 100; size < 200000; size *= 7)
            block = realloc(block, size);
        if (strcmp(block = realloc(block, 40), "grows, and keeps this"))
            abort();
        free(block);
        free(memalign(256, 300));
        pthread_mutex_lock(&lock);
        union piece *p = pool;
        pool = p->next;
        memset(p->bytes, i, sizeof p->bytes);
        p->next = pool;
        pool = p;
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

static void at_exit(void) {
    free(late);
    free(pool);
}

int main(void) {
    pthread_t t, u;
    union piece *chunk = calloc(1, sizeof *chunk);
    pool = chunk;
    late = malloc(10);
    atexit(at_exit);
    pthread_create(&t, 0, work, 0);
    pthread_create(&u, 0, work, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    int status = 1;
    if (fork() == 0)
        return 0;
    wait(&status);
    return status;
}
