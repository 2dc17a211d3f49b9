//@ expect: none
//@ stages: hunt
// Handlers that the kernel calls wait for one another's locks, and return to where they came from.
#include <pthread.h>
#include <signal.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int handled;
static __thread int own;

static void on_fault(int signal) {
    (void)signal;
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&lock);
        handled++;
        pthread_mutex_unlock(&lock);
    }
    own++;
}

static void *work(void *argument) {
    for (int i = 0; i < 4; i++) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
        if (i == 3) pthread_kill(*(pthread_t *)argument, SIGTRAP);
        raise(SIGFPE);
    }
    return (void *)(long)(own != 4);
}

int main(void) {
    struct sigaction action = {.sa_handler = on_fault};
    sigaction(SIGFPE, &action, 0);
    action.sa_handler = SIG_IGN;
    sigaction(SIGTRAP, &action, 0);
    pthread_t threads[3], self = pthread_self();
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, &self);
    void *failed = 0;
    for (int i = 0; i < 3; i++) {
        void *one;
        pthread_join(threads[i], &one);
        if (one) failed = one;
    }
    return failed || handled != 36;
}
