//@ expect: none
//@ levels: O2 the loop is vectorised there: all memory between is loaded, and what was not asked for thrown away
// One thread reads one member of each structure, another writes the others.
#include <pthread.h>

struct both { int read, written; } all[256];
int odd[512];
volatile int result;

static void *reads(void *p)
{
    int sum = 0;
    for (int i = 0; i < 256; i++)
        sum += all[i].read + odd[2 * i];
    result = sum;
    return p;
}

static void *writes(void *p)
{
    for (int i = 0; i < 256; i++) {
        all[i].written = i;
        odd[2 * i + 1] = i;
    }
    return p;
}

int main(void)
{
    pthread_t t, u;
    pthread_create(&t, 0, reads, 0);
    pthread_create(&u, 0, writes, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
