//@ expect: real
//@ stages: explore
//@ stdin: 1
// Constants that are no strings: a structure that is a format, tables of numbers and of structures.
#include <pthread.h>
#include <stdio.h>

static const struct {
    char text[3];
    char rest[5];
} format = {"%d", "none"};
static const double halves[] = {0.5, 1.5, 21.0};
static const struct {
    const char *name;
    int value;
} table[] = {{"one", 1}, {"two", 2}};
static int shared;

static void *worker(void *unused)
{
    shared++; // RACE!(a)
    return unused;
}

int main(void)
{
    int n = 0;
    if (scanf((const char *)&format, &n) != 1 || n * 2 != (int)(halves[2] * 2) * table[0].value)
        return 0;
    pthread_t a, b;
    pthread_create(&a, NULL, worker, NULL);
    pthread_create(&b, NULL, worker, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
