//@ expect: none
//@ levels: O2 a loop that may be left early can be vectorised there, and reads behind what it looks for
// One thread looks for the end of what another one fills from there on.
#include <pthread.h>

int value[1024];
char letter[1024];
volatile int result;

static void *looks(void *p)
{
    int i, at = -1;
    for (i = 0; i < 1024; i++)
        if (value[i])
            break;
    for (int k = 0; k < 1024; k++)
        if (letter[k] == '/') {
            at = k;
            break;
        }
    result = i + at;
    return p;
}

static void *fills(void *p)
{
    for (int i = 101; i < 1024; i++) {
        value[i] = i;
        letter[i] = '-';
    }
    return p;
}

int main(void)
{
    pthread_t t, u;
    value[100] = 1;
    letter[100] = '/';
    pthread_create(&t, 0, looks, 0);
    pthread_create(&u, 0, fills, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
