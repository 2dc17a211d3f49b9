//@ expect: real
//@ stages: explore
//@ file: left ab
//@ file: right cd
// Two files that must agree; one is read at an offset, of the other its end.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

int shared;
static void *worker(void *p)
{
    (void)p;
    shared++; // RACE!(a)
    return NULL;
}
static void race(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, worker, NULL);
    pthread_create(&b, NULL, worker, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}
int main(void)
{
    char key = 0, lock[2] = "";
    int fd = open("left", O_RDONLY);
    FILE *f = fopen("right", "rb");
    if (fd < 0 || !f)
        return 0;
    if (pread(fd, &key, 1, 1) == 1 && fseek(f, -2, SEEK_END) == 0 && fread(lock, 1, 2, f) == 2)
        if (lock[0] == key && (lock[1] ^ key) == 0x5a && ftell(f) == 5)
            race();
    close(fd);
    fclose(f);
    return 0;
}
