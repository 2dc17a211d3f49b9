//@ expect: crash
//@ stages: explore
//@ args: x
// An input that leads to a null pointer.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int *p = &(int){0};
    if (argc > 1 && argv[1][0] == '*' && argv[1][1] == '7')
        p = NULL;
    return *(volatile int *)p;
}
