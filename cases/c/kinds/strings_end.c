//@ expect: none
//@ flags: -fno-builtin
// Functions of strings read up to where they find what they look for: what lies behind belongs to another thread.
#include <pthread.h>
#include <string.h>

char text[64] = "abc", name[64] = "ab=c";
volatile int result;

static void *reads(void *p)
{
    char copy[64];
    int sum = strncmp(text, "abd", 32);           // MAY(hunt:a) how far it reads is not known
    sum += memchr(text, 'b', 60) != 0;            // MAY(hunt:b) as above
    sum += strncpy(copy, text, 50)[0];            // MAY(hunt:c) as above
    sum += strchr(name, '=') != 0;                // MAY(hunt:d) as above
    sum += strcmp(name, "ab!");                   // MAY(hunt:e) as above
    result = sum;
    return p;
}

static void *writes(void *p)
{
    for (int i = 8; i < 64; i++)
        text[i] = 'x'; // MAY(hunt:a) MAY(hunt:b) MAY(hunt:c) as above
    name[3] = 'd';     // MAY(hunt:d) MAY(hunt:e) as above
    return p;
}

int main(void)
{
    pthread_t t, u;
    pthread_create(&t, 0, reads, 0);
    pthread_create(&u, 0, writes, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
