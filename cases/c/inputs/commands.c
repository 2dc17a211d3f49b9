//@ expect: real
//@ stages: explore
//@ stdin: help\n
// Lines with a command each.
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
int main(void)
{
    char line[64];
    int open = 0, dirty = 0;
    while (fgets(line, sizeof line, stdin)) {
        char *word = strtok(line, " \n");
        if (!word)
            continue;
        if (strcmp(word, "open") == 0)
            open = 1;
        else if (open && strcmp(word, "set") == 0)
            dirty = 1;
        else if (dirty && strcmp(word, "go") == 0)
            race();
    }
    return 0;
}
