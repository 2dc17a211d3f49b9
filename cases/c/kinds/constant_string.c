//@ expect: real
// A comparison of strings stops at the first difference, also where it becomes a comparison of memory or of a number.
#include <pthread.h>
#include <string.h>

char name[16] = "x", option[16] = "x";
_Alignas(8) char word[8] = "x";
volatile int result;

static void *compares(void *p)
{
    result = strcmp(name, "hello") == 0;       // MAY(hunt:a) the letters behind the first
    result = strncmp(word, "abcd", 4) == 0;    // MAY(hunt:b) the same
    result = strncmp(option, "--file", 6) == 0; // RACE!(c) the first
    return p;
}

static void *writes(void *p)
{
    name[2] = 'a';   // MAY(hunt:a) not read: the first letter differs
    word[3] = 'b';   // MAY(hunt:b) the same
    option[0] = '-'; // RACE!(c)
    return p;
}

int main(void)
{
    pthread_t t, u;
    pthread_create(&t, 0, compares, 0);
    pthread_create(&u, 0, writes, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
