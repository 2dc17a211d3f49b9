//@ expect: none
// The same for mapped pages: unmapping ends the life of what was there.
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>

static void *worker(void *arg) {
    for (int i = 0; i < 3; i++) {
        long *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED)
            return 0;
        page[0] = (long)arg;
        page[600] = page[0] + i;
        munmap(page, 8192);
    }
    return 0;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, worker, (void *)1);
    pthread_create(&u, 0, worker, (void *)2);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
