//@ expect: harmful(assert)
// Two threads count in a hot loop. Run by itself it fails nearly every time, and somebody stands before the statement
// at nearly every moment: neither hides that it is the schedule's doing.
#include <assert.h>
#include <pthread.h>

enum { ROUNDS = 20000 };

volatile int counter;

static void *count(void *arg) {
    for (int i = 0; i < ROUNDS; i++)
        counter++; // RACE!(update)
    return arg;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, count, 0);
    pthread_create(&u, 0, count, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    assert(counter == 2 * ROUNDS);
    return 0;
}
