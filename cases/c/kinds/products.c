//@ expect: none
//@ levels: O2 the loop is vectorised there: all members are multiplied, and what was not asked for thrown away
// As every_other.c, but between the loads and the choice of lanes there is arithmetic.
#include <pthread.h>

struct both { float read, written; } left[256], right[256];
float product[256];

static void *multiplies(void *p)
{
    for (int i = 0; i < 256; i++)
        product[i] = left[i].read * right[i].read;
    return p;
}

static void *writes(void *p)
{
    for (int i = 0; i < 256; i++) {
        left[i].written = i;
        right[i].written = i;
    }
    return p;
}

int main(void)
{
    pthread_t t, u;
    pthread_create(&t, 0, multiplies, 0);
    pthread_create(&u, 0, writes, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
