//@ expect: real
//@ stages: explore
//@ args: x
// Through copies, a switch on case and a number in hexadecimal.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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
    char name[32], copy[32];
    if (argc < 2 || strlen(argv[1]) >= sizeof name)
        return 0;
    strcpy(name, argv[1]);
    memcpy(copy, name, sizeof copy);
    if (strncasecmp(copy, "id=", 3) == 0 && strtoul(copy + 3, NULL, 16) == 0xbeef)
        race();
    return 0;
}
