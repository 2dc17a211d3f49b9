//@ expect: real
//@ stages: scan
// A handler writes what the program uses.
#include <signal.h>
int value;

static void handler(int n) {
    value = n; // RACE!(a)
}

int main(void) {
    signal(SIGUSR1, handler);
    value++; // RACE!(a)
    return 0;
}
