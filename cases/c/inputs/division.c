//@ expect: crash
//@ stages: explore
//@ args: 1
// An input by which is divided.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1;
    return 1000 / (n - 17) == 5 ? 0 : 0 * printf("%d\n", 1000 / (n - 17));
}
