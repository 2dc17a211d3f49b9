// Where blocks and stacks lie, with threads that end detached.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void show(void *address) {
    pthread_mutex_lock(&mutex);
    printf("%p\n", address);
    pthread_mutex_unlock(&mutex);
}

static void *work(void *argument) {
    void *blocks[20];
    show(&argument);
    for (int i = 0; i < 20; i++) {
        blocks[i] = malloc(24 + i * i * 10);
        show(blocks[i]);
        if (i % 3 == 0)
            free(blocks[i]);
        if (i % 7 == 0)
            usleep(10);
    }
    return argument;
}

int main(void) {
    pthread_attr_t detached;
    unsigned chance;
    if (getrandom(&chance, sizeof chance, 0) == sizeof chance)
        printf("%x\n", chance);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (int round = 0; round < 4; round++) {
        pthread_t threads[6], late;
        for (int i = 0; i < 6; i++)
            pthread_create(&threads[i], i % 2 ? &detached : 0, work, 0);
        for (int i = 0; i < 6; i += 2)
            pthread_join(threads[i], 0);
        pthread_create(&late, 0, work, 0);
        pthread_detach(late);
        usleep(1000);
    }
    return 0;
}
