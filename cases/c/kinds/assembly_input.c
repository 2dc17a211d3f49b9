//@ expect: real
// What inline assembly does with its operands: reads inputs, writes outputs, fetches ahead, or tries in vain.
#include <pthread.h>

int input, output, ahead, tried = 1, taken = 5;
volatile int first, second;

static void *assembly(void *p)
{
    int value, old = 7, five = 5;
    __asm__ volatile("movl %1, %0" : "=r"(value) : "m"(input)); // two reads are no race
    __asm__ volatile("prefetcht0 %0" : : "m"(ahead));           // no access
    __asm__ volatile("lock; cmpxchgl %2, %1" : "+a"(old), "+m"(tried) : "r"(9) : "cc"); // MAY(hunt:t) only reads
    __asm__ volatile("lock; cmpxchgl %2, %1" : "+a"(five), "+m"(taken) : "r"(9) : "cc"); // RACE!(u)
    __asm__ volatile("movl $1, %0" : "=m"(output)); // RACE!(o)
    first = value + old + five;
    return p;
}

static void *statements(void *p)
{
    second = input;
    ahead = 1;
    second = tried;  // MAY(hunt:t) the other one finds something else and writes nothing
    second = taken;  // RACE!(u)
    second = output; // RACE!(o)
    return p;
}

int main(void)
{
    pthread_t t, u;
    pthread_create(&t, 0, assembly, 0);
    pthread_create(&u, 0, statements, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
