//@ expect: real
//@ stages: explore
//@ stdin: help
// A word that is looked up by its hash: no solver finds it, but it stands in the program.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *const words[] = {"help", "quit", "resize", "status"};
static int counter;

static uint64_t hash(const char *word)
{
    uint64_t h = 0;
    for (; *word; word++) {
        h = (h ^ (unsigned char)*word) * 0x9e3779b97f4a7c15;
        h ^= h >> 29;
    }
    return h;
}

static void *resize(void *unused)
{
    counter++; // RACE!(a)
    return unused;
}

int main(void)
{
    char word[64] = "";
    if (scanf("%63[a-z]", word) != 1)
        return 0;
    if (hash(word) != hash(words[2]))
        return 0;
    pthread_t a, b;
    pthread_create(&a, NULL, resize, NULL);
    pthread_create(&b, NULL, resize, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", counter);
    return 0;
}
