//@ expect: real
//@ stages: explore
//@ stdin: abcd
// A word over standard input, letter by letter.
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
    int state = 0, c;
    while ((c = getchar()) != EOF)
        switch (state) {
        case 0: state = c == 'S' ? 1 : 0; break;
        case 1: state = c == 'Y' ? 2 : c == 'S' ? 1 : 0; break;
        case 2: state = c == 'N' ? 3 : 0; break;
        case 3: state = c == '+' ? 4 : 3; break;
        default: break;
        }
    if (state == 4)
        race();
    return 0;
}
