//@ expect: real
//@ stages: explore
//@ args: data
//@ file: data 12\n
// A file that an argument names: a word and a number in it.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
int main(int argc, char **argv)
{
    FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
    char line[80];
    if (f && fgets(line, sizeof line, f))
        if (strncmp(line, "run ", 4) == 0 && atoi(line + 4) == 47)
            race();
    if (f)
        fclose(f);
    return 0;
}
