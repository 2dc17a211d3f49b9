//@ expect: none
// The annotations of ThreadSanitizer and Helgrind, with the empty functions that programs bring for ordinary builds. The
// lock's own words are not looked at between "pre" and "post".
#include <pthread.h>
#include <sched.h>
#include <stddef.h>

#define NOBODY __attribute__((weak))
NOBODY void AnnotateHappensBefore(const char *f, int l, const volatile void *a) { (void)f, (void)l, (void)a; }
NOBODY void AnnotateHappensAfter(const char *f, int l, const volatile void *a) { (void)f, (void)l, (void)a; }
NOBODY void __tsan_mutex_pre_lock(void *a, unsigned flags) { (void)a, (void)flags; }
NOBODY void __tsan_mutex_post_lock(void *a, unsigned flags, int n) { (void)a, (void)flags, (void)n; }
NOBODY int __tsan_mutex_pre_unlock(void *a, unsigned flags) { return (void)a, (void)flags, 0; }
NOBODY void __tsan_mutex_post_unlock(void *a, unsigned flags) { (void)a, (void)flags; }

volatile int word, ready;
int sum, sent;

int swapped(volatile int *word, int value);
__asm__("swapped: movl %esi, %eax; xchgl %eax, (%rdi); ret");

static void add(int n) {
    __tsan_mutex_pre_lock((void *)&word, 0);
    while (word || swapped(&word, 1))
        sched_yield();
    __tsan_mutex_post_lock((void *)&word, 0, 0);
    sum += n;
    __tsan_mutex_pre_unlock((void *)&word, 0);
    word = 0;
    __tsan_mutex_post_unlock((void *)&word, 0);
}

static void *other(void *arg) {
    while (!swapped(&ready, 0))
        sched_yield();
    AnnotateHappensAfter(__FILE__, __LINE__, &ready);
    add(sent);
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    sent = 3;
    AnnotateHappensBefore(__FILE__, __LINE__, &ready);
    swapped(&ready, 1);
    add(1);
    pthread_join(t, 0);
    return sum != 4;
}
