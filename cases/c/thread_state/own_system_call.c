//@ expect: none
//@ stages: hunt
// A thread asks for its own number in a way that nothing stands before.
#include <assert.h>
#include <pthread.h>
#include <sys/syscall.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int turns;

static long number(void) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_gettid) : "rcx", "r11", "memory");
    return result;
}

static void *work(void *argument) {
    long own = number();
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&lock);
        turns++;
        pthread_mutex_unlock(&lock);
        assert(number() == own);
    }
    return argument;
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    return turns != 60;
}
