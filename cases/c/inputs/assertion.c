//@ expect: crash
//@ stages: explore
//@ stdin: 1 2
// An input that the program did not think of.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    int a, b;
    if (scanf("%d %d", &a, &b) != 2)
        return 0;
    assert(a != b + 1000);
    return 0;
}
