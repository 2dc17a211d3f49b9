//@ expect: none
// The function that is called for each loaded file runs under the loader's lock.
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>

int files;

static int counts(struct dl_phdr_info *info, size_t size, void *p)
{
    files++;
    return 0;
}

static void *looks(void *p)
{
    dl_iterate_phdr(counts, 0);
    return p;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, looks, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return files == 0;
}
