//@ expect: none
// The last round of a loop gives the lock back. What the loop reads in each round is not read after that.
#include <pthread.h>

int step;
int end[16];
volatile int five = 5, result;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void give_back(void)
{
    pthread_mutex_unlock(&mutex);
}

static void *adds(void *p)
{
    int sum = 0, n = 2 * five;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < n; i++) {
        sum += step;
        if (end[i])
            give_back();
    }
    result = sum;
    return p;
}

static void *sets(void *p)
{
    pthread_mutex_lock(&mutex);
    step = 3;
    pthread_mutex_unlock(&mutex);
    return p;
}

int main(void)
{
    pthread_t t, u;
    end[9] = 1;
    pthread_create(&t, 0, adds, 0);
    pthread_create(&u, 0, sets, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
