//@ expect: none
//@ stages: explore
// What the program itself writes and reads again is no input.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

int shared;
static void *worker(void *p)
{
    (void)p;
    shared++;
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
    char line[80] = "";
    FILE *f = fopen("scratch", "w");
    if (!f || fputs("made here\n", f) < 0 || fclose(f) || !(f = fopen("scratch", "r")))
        return 0;
    if (fgets(line, sizeof line, f) && strcmp(line, "given from outside\n") == 0)
        race();
    fclose(f);
    return 0;
}
