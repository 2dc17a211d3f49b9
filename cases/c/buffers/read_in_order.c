//@ expect: none
// A buffer that goes round: who reads it from a pipe, sends it on; who gets it back, uses it.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int there[2], back[2];
char buffer[64];

static void *answers(void *p)
{
    char word[8];
    for (int i = 0; i < 3; i++) {
        if (read(there[0], word, sizeof word) != sizeof word)
            abort();
        if (snprintf(buffer, sizeof buffer, "%s of %d", word, atoi(buffer)) < 5)
            abort();
        if (write(back[1], buffer, 8) != 8)
            abort();
    }
    return p;
}

int main(void)
{
    pthread_t t;
    if (pipe(there) || pipe(back))
        return 1;
    pthread_create(&t, 0, answers, 0);
    for (int i = 0; i < 3; i++) {
        sprintf(buffer, "%d", i);
        if (write(there[1], "answer\0", 8) != 8)
            return 1;
        if (read(back[0], buffer, sizeof buffer) != 8)
            return 1;
        if (strncmp(buffer, "answer o", 8))
            return 1;
    }
    pthread_join(t, 0);
    return 0;
}
