//@ expect: none
// The same loops over halves that do not overlap, and a strided walk over odd and even elements.
#include <pthread.h>

#define N 400
long halves[N];
int strided[N];
int index_of[2] = {0, 1};

static void *fill(void *arg) {
    int k = *(int *)arg;
    for (int i = k * N / 2; i < (k + 1) * N / 2; i++)
        halves[i] = i;
    for (int i = k; i < N; i += 2)
        strided[i] += i;
    return 0;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, fill, &index_of[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return halves[N - 1] != N - 1 || strided[N - 1] != N - 1;
}
