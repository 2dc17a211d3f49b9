//@ expect: real
// Races that are meant: on a counter that may be wrong, in a function that looks on purpose. Beside them one that is not.
#include <deadheat.h>
#include <pthread.h>

int hits, state, lost;
int seen[2];

static void *works(void *arg) {
    for (int i = 0; i < 2; i++) {
        hits++;
        state = i + 1;
    }
    lost++; // RACE!(lost)
    return arg;
}

static void peek(int n) {
    DEADHEAT_IGNORE_BEGIN();
    seen[n] = state;
    DEADHEAT_IGNORE_END();
}

int main(void) {
    pthread_t t;
    DEADHEAT_BENIGN_RACE(&hits, sizeof hits, "a statistic");
    pthread_create(&t, 0, works, 0);
    hits++;
    peek(0);
    lost++; // RACE!(lost)
    peek(1);
    pthread_join(t, 0);
    return 0;
}
