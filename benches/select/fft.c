// A parallel FFT of 2^m complex numbers (m even) in six steps, of the kind of SPLASH-2's: rows are transformed by their
// owner, the matrix is transposed between barriers.
//   -pN threads, -mM, -t inverse transform and comparison, -s times of each thread, -r reversal by a table, -z zeroes
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FORWARD = 1, INVERSE = -1 };
typedef struct { double re, im; } number;

static int threads = 1, m = 8, test, statistics, by_table, zeroes;
static long rows, n;
static number *x, *work, *roots, *twiddles;
static int *reversed;
static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int next_thread;
static double checksum, slowest;
static long transposed, transforms;

static number times(number a, number b) { return (number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

static void init_roots(void)
{
    for (long i = 0; i < rows; i++) {
        double angle = 2 * M_PI * i / rows;
        roots[i] = (number){cos(angle), -sin(angle)};
    }
}

static void init_twiddles(long first, long last)
{
    for (long i = first; i < last; i++)
        for (long j = 0; j < rows; j++) {
            double angle = 2 * M_PI * i * j / n;
            twiddles[i * rows + j] = (number){cos(angle), -sin(angle)};
        }
}

static void init_numbers(void)
{
    unsigned state = 12345;
    for (long i = 0; i < n; i++) {
        state = state * 1103515245 + 12345;
        x[i] = zeroes ? (number){0, 0} : (number){(state >> 16) / 65536.0, (state >> 8 & 0xff) / 256.0};
    }
}

static long reverse(long i)
{
    long result = 0;
    for (long bit = 1; bit < rows; bit <<= 1, i >>= 1)
        result = result << 1 | (i & 1);
    return result;
}

static void init_table(void)
{
    for (long i = 0; i < rows; i++)
        reversed[i] = reverse(i);
}

static void permute(number *row)
{
    for (long i = 0; i < rows; i++) {
        long j = by_table ? reversed[i] : reverse(i);
        if (i < j) {
            number t = row[i];
            row[i] = row[j];
            row[j] = t;
        }
    }
}

static void transform_row(number *row, int direction)
{
    permute(row);
    for (long half = 1; half < rows; half *= 2)
        for (long base = 0; base < rows; base += 2 * half)
            for (long k = 0; k < half; k++) {
                number root = roots[k * (rows / (2 * half))];
                root.im *= direction;
                number t = times(root, row[base + half + k]), *u = &row[base + k];
                row[base + half + k] = (number){u->re - t.re, u->im - t.im};
                *u = (number){u->re + t.re, u->im + t.im};
            }
}

static void transpose(const number *from, number *to, long first, long last)
{
    for (long i = first; i < last; i++)
        for (long j = 0; j < rows; j++)
            to[j * rows + i] = from[i * rows + j];
    transposed += last - first; // a count that nobody needs, without a lock
}

static void twiddle(number *row, long i, int direction)
{
    for (long j = 0; j < rows; j++) {
        number t = twiddles[i * rows + j];
        t.im *= direction;
        row[j] = times(row[j], t);
    }
}

static void scale(number *row)
{
    for (long j = 0; j < rows; j++)
        row[j].re /= n, row[j].im /= n;
}

static void fft(long first, long last, int direction)
{
    transpose(x, work, first, last);
    pthread_barrier_wait(&barrier);
    for (long i = first; i < last; i++) {
        transform_row(&work[i * rows], direction);
        twiddle(&work[i * rows], i, direction);
    }
    pthread_barrier_wait(&barrier);
    transpose(work, x, first, last);
    pthread_barrier_wait(&barrier);
    for (long i = first; i < last; i++) {
        transform_row(&x[i * rows], direction);
        if (direction == INVERSE)
            scale(&x[i * rows]);
    }
    pthread_barrier_wait(&barrier);
    transpose(x, work, first, last);
    pthread_barrier_wait(&barrier);
    memcpy(&x[first * rows], &work[first * rows], (last - first) * rows * sizeof *x);
    pthread_barrier_wait(&barrier);
}

static void add_sum(long first, long last)
{
    double sum = 0;
    for (long i = first * rows; i < last * rows; i++)
        sum += x[i].re + x[i].im;
    pthread_mutex_lock(&lock);
    checksum += sum;
    pthread_mutex_unlock(&lock);
}

static void note_statistics(int id)
{
    double mine = id + transforms; // stands for a time
    transforms++;                  // as in `transpose`
    if (mine > slowest)
        slowest = mine;
}

static void *slave(void *unused)
{
    pthread_mutex_lock(&lock);
    int id = next_thread++;
    pthread_mutex_unlock(&lock);
    long first = rows * id / threads, last = rows * (id + 1) / threads;
    init_twiddles(first, last);
    pthread_barrier_wait(&barrier);
    fft(first, last, FORWARD);
    if (statistics)
        note_statistics(id);
    if (test) {
        fft(first, last, INVERSE);
        add_sum(first, last);
    }
    return unused;
}

int main(int argc, char **argv)
{
    for (int option; (option = getopt(argc, argv, "p:m:tsrz")) != -1;)
        switch (option) {
        case 'p': threads = atoi(optarg); break;
        case 'm': m = atoi(optarg) & ~1; break;
        case 't': test = 1; break;
        case 's': statistics = 1; break;
        case 'r': by_table = 1; break;
        case 'z': zeroes = 1; break;
        default: return 2;
        }
    rows = 1L << m / 2, n = 1L << m;
    x = malloc(n * sizeof *x), work = malloc(n * sizeof *x), twiddles = malloc(n * sizeof *x);
    roots = malloc(rows * sizeof *x), reversed = malloc(rows * sizeof *reversed);
    init_roots();
    init_numbers();
    if (by_table)
        init_table();
    double before = 0;
    for (long i = 0; i < n; i++)
        before += x[i].re + x[i].im;
    pthread_barrier_init(&barrier, NULL, threads);
    pthread_t thread[64];
    for (int i = 1; i < threads; i++)
        pthread_create(&thread[i], NULL, slave, NULL);
    slave(NULL);
    for (int i = 1; i < threads; i++)
        pthread_join(thread[i], NULL);
    if (test && fabs(checksum - before) > 1e-6 * n)
        return 1;
    printf("%ld numbers, %.3f\n", n, x[1].re);
    return 0;
}
