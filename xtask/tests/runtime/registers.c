// Vector and x87 registers hold a thread's values across its atomic operations, at which others run.
#include <immintrin.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int turns;

// A handler may change any register: the kernel gives them back.
static void on_signal(int signal)
{
    (void)signal;
    __asm__ volatile("vzeroall; fninit" ::: "xmm0", "xmm1", "xmm2", "xmm3", "st");
}

static void *work(void *argument) {
    int own = (int)(long)argument;
    __m256d sum = _mm256_set1_pd(own), other = _mm256_set1_pd(2 * own);
    long double low = own;
    for (int i = 0; i < 20; i++) {
        __m256d step = _mm256_set_pd(own + 3, own + 2, own + 1, own);
        long double narrow = low * 3 + own;
        atomic_fetch_add(&turns, 1);
        sum = _mm256_add_pd(sum, step);
        low = narrow - low * 2 - own;
        atomic_fetch_add(&turns, 1);
        other = _mm256_add_pd(other, sum);
        low += own;
    }
    double got[4], more[4];
    _mm256_storeu_pd(got, sum);
    _mm256_storeu_pd(more, other);
    for (int i = 0; i < 4; i++)
        if (got[i] != own + 20 * (own + i) || more[i] != 2 * own + 20 * own + 210 * (own + i)) return argument;
    return low == own + 20 * own ? 0 : argument;
}

int main(void) {
    pthread_t threads[3];
    signal(SIGUSR1, on_signal);
    void *failed = 0;
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, (void *)(i + 1));
    for (int i = 0; i < 12; i++) pthread_kill(threads[i % 3], SIGUSR1);
    for (int i = 0; i < 3; i++) {
        void *one;
        pthread_join(threads[i], &one);
        if (one) failed = one;
    }
    printf("%d\n", !failed && turns == 120);
    return 0;
}
