// LU decomposition of a dense n by n matrix in blocks, of the kind of SPLASH-2's: blocks are scattered over the threads,
// a step factors its diagonal block, then the perimeter, then the interior, with barriers between.
//   -nN, -bB block size, -pP threads, -t multiplies back and compares, -s sums, -o prints a row, -d diagonally dominant
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int n = 64, size = 8, threads = 1, test, sums, print, dominant;
static int blocks, across, down;
static double *a, *original, *right_hand_side;
static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int next_thread, worst_row = -1;
static double worst, sum;
static long daxpys, steps_done;

static double *at(int i, int j) { return &a[(long)i * n + j]; }
static int owner(int i, int j) { return j % across + i % down * across; }
static int height(int block) { return block == blocks - 1 ? n - block * size : size; }

static void init_matrix(void)
{
    unsigned state = 7;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            state = state * 1103515245 + 12345;
            *at(i, j) = (state >> 16) / 65536.0;
            if (i == j)
                *at(i, j) *= dominant ? 100 : 10;
            original[(long)i * n + j] = *at(i, j);
        }
}

static void init_right_hand_side(void)
{
    for (int i = 0; i < n; i++) {
        right_hand_side[i] = 0;
        for (int j = 0; j < n; j++)
            right_hand_side[i] += *at(i, j);
    }
}

static __attribute__((noinline)) void daxpy(double *to, const double *from, int count, double factor)
{
    for (int i = 0; i < count; i++)
        to[i] -= factor * from[i];
}

static void lu0(int k)
{
    int first = k * size, last = first + height(k);
    for (int i = first; i < last; i++)
        for (int row = i + 1; row < last; row++) {
            *at(row, i) /= *at(i, i);
            daxpy(at(row, i + 1), at(i, i + 1), last - i - 1, *at(row, i));
        }
}

static void bdiv(int i, int k)
{
    int first = k * size, last = first + height(k);
    for (int row = i * size; row < i * size + height(i); row++)
        for (int c = first; c < last; c++) {
            *at(row, c) /= *at(c, c);
            daxpy(at(row, c + 1), at(c, c + 1), last - c - 1, *at(row, c));
        }
}

static void bmodd(int k, int j)
{
    int first = k * size, last = first + height(k);
    for (int c = first; c < last; c++)
        for (int row = c + 1; row < last; row++)
            daxpy(at(row, j * size), at(c, j * size), height(j), *at(row, c));
}

static void bmod(int i, int j, int k)
{
    for (int c = k * size; c < k * size + height(k); c++)
        for (int row = i * size; row < i * size + height(i); row++)
            daxpy(at(row, j * size), at(c, j * size), height(j), *at(row, c));
    daxpys += height(k); // a count that nobody needs, without a lock
}

static void lu(int id)
{
    for (int k = 0; k < blocks; k++) {
        if (owner(k, k) == id)
            lu0(k);
        pthread_barrier_wait(&barrier);
        for (int i = k + 1; i < blocks; i++) {
            if (owner(i, k) == id)
                bdiv(i, k);
            if (owner(k, i) == id)
                bmodd(k, i);
        }
        pthread_barrier_wait(&barrier);
        for (int i = k + 1; i < blocks; i++)
            for (int j = k + 1; j < blocks; j++)
                if (owner(i, j) == id)
                    bmod(i, j, k);
        if (sums)
            steps_done++;
    }
    pthread_barrier_wait(&barrier);
}

static void add_sum(int id)
{
    double mine = 0;
    for (int i = id; i < n; i += threads)
        for (int j = 0; j < n; j++)
            mine += *at(i, j);
    pthread_mutex_lock(&lock);
    sum += mine;
    pthread_mutex_unlock(&lock);
}

static double product(int i, int j)
{
    double result = i <= j ? *at(i, j) : 0;
    for (int k = 0; k < i && k <= j; k++)
        result += *at(i, k) * *at(k, j);
    return result;
}

static void compare_rows(int id)
{
    for (int i = id; i < n; i += threads)
        for (int j = 0; j < n; j++) {
            double off = fabs(product(i, j) - original[(long)i * n + j]);
            if (off > worst) {
                worst = off; // the largest of what is nearly nothing
                worst_row = i;
            }
        }
}

static void *slave(void *unused)
{
    pthread_mutex_lock(&lock);
    int id = next_thread++;
    pthread_mutex_unlock(&lock);
    lu(id);
    if (sums)
        add_sum(id);
    if (test)
        compare_rows(id);
    return unused;
}

static void print_row(int i)
{
    for (int j = 0; j < n; j++)
        printf("%.3f ", *at(i, j));
    puts("");
}

int main(int argc, char **argv)
{
    for (int option; (option = getopt(argc, argv, "n:b:p:tsod")) != -1;)
        switch (option) {
        case 'n': n = atoi(optarg); break;
        case 'b': size = atoi(optarg); break;
        case 'p': threads = atoi(optarg); break;
        case 't': test = 1; break;
        case 's': sums = 1; break;
        case 'o': print = 1; break;
        case 'd': dominant = 1; break;
        default: return 2;
        }
    blocks = (n + size - 1) / size;
    for (across = (int)sqrt(threads); threads % across; across--)
        ;
    down = threads / across;
    a = malloc(sizeof *a * n * n), original = malloc(sizeof *a * n * n), right_hand_side = malloc(sizeof *a * n);
    init_matrix();
    init_right_hand_side();
    pthread_barrier_init(&barrier, NULL, threads);
    pthread_t thread[64];
    for (int i = 1; i < threads; i++)
        pthread_create(&thread[i], NULL, slave, NULL);
    slave(NULL);
    for (int i = 1; i < threads; i++)
        pthread_join(thread[i], NULL);
    if (print)
        print_row(n - 1);
    if (worst > 1e-6)
        return 1;
    printf("%d by %d: %.3f\n", n, n, *at(n - 1, n - 1));
    return 0;
}
