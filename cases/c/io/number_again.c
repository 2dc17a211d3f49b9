//@ expect: none
// A number that was closed is another descriptor's: who gets it does not race with who closed it. What is handed over
// under a lock is closed by who got it.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int handed = -1;

static void *opens(void *p)
{
    char byte;
    for (int i = 0; i < 5; i++) {
        int own = open("/dev/zero", O_RDONLY);
        if (own < 0 || read(own, &byte, 1) != 1 || close(own))
            perror("own");
        FILE *stream = fopen("/dev/zero", "r");
        lseek(fileno(stream), 0, SEEK_SET);
        fclose(stream);
    }
    return p;
}

static void *takes(void *p)
{
    char byte;
    pthread_mutex_lock(&m);
    while (handed < 0)
        pthread_cond_wait(&c, &m);
    int own = handed;
    pthread_mutex_unlock(&m);
    if (read(own, &byte, 1) != 1 || close(own)) // WARN(hunt:a) handed over under the lock
        perror("handed");
    return p;
}

int main(void)
{
    char byte;
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, i < 2 ? opens : takes, 0);
    int file = open("/dev/zero", O_RDONLY);
    if (read(file, &byte, 1) != 1) // WARN(hunt:a) as above
        perror("first");
    pthread_mutex_lock(&m);
    handed = file;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return 0;
}
