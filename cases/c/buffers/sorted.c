//@ expect: real
// Sorting reads and writes the elements, and so does the comparison; a file gets what is in the buffer.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int numbers[8] = {3, 1, 2, 5, 4, 8, 7, 6};
char line[] = "0123456";

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b; // RACE!(c)
}

static void *sorts(void *p)
{
    qsort(numbers, 8, sizeof numbers[0], compare); // RACE!(a)
    line[0] = '1'; // RACE!(b)
    return p;
}

int main(void)
{
    pthread_t t;
    FILE *null = fopen("/dev/null", "w");
    pthread_create(&t, 0, sorts, 0);
    numbers[0] = 9; // RACE!(a) RACE!(c)
    fwrite(line, 1, sizeof line, null); // RACE!(b)
    pthread_join(t, 0);
    return fclose(null);
}
