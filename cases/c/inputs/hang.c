//@ expect: hang
//@ stages: explore
//@ stdin: a
// An input for which the loop has no end.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    volatile int step = 1;
    int c = getchar();
    if (c == '#')
        step = 0;
    for (volatile int i = 0; i < 10; i += step)
        ;
    return 0;
}
