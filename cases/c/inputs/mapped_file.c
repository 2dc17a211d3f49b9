//@ expect: real
//@ stages: explore
//@ file: settings v1 plain
// A file that the program opens by itself in its working directory, mapped into memory; its length counts, too.
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
    struct stat s;
    int fd = open("settings", O_RDONLY);
    if (fd < 0 || fstat(fd, &s) || s.st_size < 4)
        return 0;
    const char *text = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (text == MAP_FAILED)
        return 0;
    if (s.st_size == 12 && memcmp(text, "v2 f", 4) == 0 && text[11] == '!')
        race();
    munmap((void *)text, (size_t)s.st_size);
    close(fd);
    return 0;
}
