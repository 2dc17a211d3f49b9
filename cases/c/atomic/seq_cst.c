//@ expect: none
// The default order is release and acquire and more; a volatile atomic is an atomic.
#include <pthread.h>
#include <stdatomic.h>

volatile _Atomic char flag;
_Atomic short answered;
int request, answer;

static void *server(void *arg) {
    while (!flag)
        ;
    answer = request * 2;
    answered = 1;
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, server, 0);
    request = 21;
    flag = 1;
    while (!answered)
        ;
    int got = answer;
    pthread_join(t, 0);
    return got != 42;
}
