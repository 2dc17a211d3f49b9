/* What a program may tell deadheat.
 *
 * `deadheat cc` and `deadheat c++` find this file by themselves and define __DEADHEAT__; with another compiler put a
 * copy where it finds it, or write
 *
 *     #if __has_include(<deadheat.h>)
 *     #include <deadheat.h>
 *     #endif
 *
 * Without deadheat the macros below vanish, their arguments with them. In a program that was built with deadheat and is
 * run by itself they do nothing. Programs with the annotations of ThreadSanitizer or Helgrind (AnnotateHappensBefore
 * and its like, __tsan_acquire, __tsan_mutex_pre_lock and its like) need none of this: those are understood. */
#ifndef DEADHEAT_H
#define DEADHEAT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The bytes are input: `deadheat explore` chooses them. The name, a string, tells inputs apart; further calls
 * with the same name go on behind it. */
extern void deadheat_symbolic(void *bytes, size_t length, const char *name) __attribute__((weak));

/* Inputs for which this does not hold are of no interest: the run ends here. */
extern void deadheat_assume(int holds) __attribute__((weak));

/* deadheat_assert(condition): what holds in every good run. Where it does not, a run under deadheat ends as by a failed
 * `assert`; a program that is run by itself goes on. */
#ifdef __DEADHEAT__
extern void AnnotateHappensBefore(const char *, int, const volatile void *) __attribute__((weak));
extern void AnnotateHappensAfter(const char *, int, const volatile void *) __attribute__((weak));
extern void AnnotateRWLockCreate(const char *, int, const volatile void *) __attribute__((weak));
extern void AnnotateRWLockDestroy(const char *, int, const volatile void *) __attribute__((weak));
extern void AnnotateRWLockAcquired(const char *, int, const volatile void *, long) __attribute__((weak));
extern void AnnotateRWLockReleased(const char *, int, const volatile void *, long) __attribute__((weak));
extern void AnnotateBenignRaceSized(const char *, int, const volatile void *, size_t, const char *)
    __attribute__((weak));
extern void AnnotateIgnoreReadsBegin(const char *, int) __attribute__((weak));
extern void AnnotateIgnoreReadsEnd(const char *, int) __attribute__((weak));
extern void AnnotateIgnoreWritesBegin(const char *, int) __attribute__((weak));
extern void AnnotateIgnoreWritesEnd(const char *, int) __attribute__((weak));
extern void deadheat_assert_failed(const char *, const char *, unsigned, const char *) __attribute__((weak));
#define deadheat_assert(...) \
    ((__VA_ARGS__) || !deadheat_assert_failed \
         ? (void)0 \
         : deadheat_assert_failed(#__VA_ARGS__, __FILE__, __LINE__, __func__))
#define DEADHEAT_TELL(call, ...) (call ? call(__FILE__, __LINE__, ##__VA_ARGS__) : (void)0)
#else
#define deadheat_assert(...) ((void)0)
#define DEADHEAT_TELL(call, ...) ((void)0)
#endif

#ifdef __cplusplus
}
#endif

#define deadheat_symbolic(bytes, length, name) \
    ((deadheat_symbolic) ? (deadheat_symbolic)((bytes), (length), (name)) : (void)0)
#define deadheat_assume(holds) ((deadheat_assume) ? (deadheat_assume)(holds) : (void)0)

/* Hand-made synchronisation. All that came before a BEFORE of an address, in any thread, happens before what comes
 * after an AFTER of the same address that is executed later. */
#define DEADHEAT_HAPPENS_BEFORE(address) DEADHEAT_TELL(AnnotateHappensBefore, (address))
#define DEADHEAT_HAPPENS_AFTER(address) DEADHEAT_TELL(AnnotateHappensAfter, (address))

/* Hand-made locks, known by their addresses. TAKEN comes after the lock is taken, GIVEN before it is given back;
 * `exclusive` is 1, or 0 for one of several readers. */
#define DEADHEAT_LOCK_CREATED(lock) DEADHEAT_TELL(AnnotateRWLockCreate, (lock))
#define DEADHEAT_LOCK_DESTROYED(lock) DEADHEAT_TELL(AnnotateRWLockDestroy, (lock))
#define DEADHEAT_LOCK_TAKEN(lock, exclusive) DEADHEAT_TELL(AnnotateRWLockAcquired, (lock), (exclusive))
#define DEADHEAT_LOCK_GIVEN(lock, exclusive) DEADHEAT_TELL(AnnotateRWLockReleased, (lock), (exclusive))

/* Races on these bytes are meant (until the memory is freed); `why` is for the reader. */
#define DEADHEAT_BENIGN_RACE(address, size, why) DEADHEAT_TELL(AnnotateBenignRaceSized, (address), (size), (why))

/* What this thread reads and writes between the two is not looked at. */
#define DEADHEAT_IGNORE_BEGIN() \
    (DEADHEAT_TELL(AnnotateIgnoreReadsBegin), DEADHEAT_TELL(AnnotateIgnoreWritesBegin))
#define DEADHEAT_IGNORE_END() (DEADHEAT_TELL(AnnotateIgnoreWritesEnd), DEADHEAT_TELL(AnnotateIgnoreReadsEnd))

#endif
