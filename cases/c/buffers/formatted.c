//@ expect: real
// One buffer for what two threads print; numbers that are read from text go where the caller says.
#include <pthread.h>
#include <stdio.h>
#include <time.h>

char text[32];
int number;
struct timespec now;

static void *first(void *p)
{
    snprintf(text, sizeof text, "%d times", 1); // RACE!(a)
    sscanf("7", "%d", &number);                 // RACE!(b)
    clock_gettime(CLOCK_REALTIME, &now);        // RACE!(c)
    return p;
}

static void *second(void *p)
{
    volatile char begin = text[0]; // RACE!(a)
    (void)begin;
    number = 2; // RACE!(b)
    now.tv_sec = 1; // RACE!(c)
    return p;
}

int main(void)
{
    pthread_t t, u;
    pthread_create(&t, 0, first, 0);
    pthread_create(&u, 0, second, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return number > 9;
}
