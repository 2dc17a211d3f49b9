/* What a program may tell deadheat. Calls do nothing in an ordinary run, and nothing where the program was
 * not linked by deadheat. */
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

#ifdef __cplusplus
}
#endif

#define deadheat_symbolic(bytes, length, name) \
    ((deadheat_symbolic) ? (deadheat_symbolic)((bytes), (length), (name)) : (void)0)
#define deadheat_assume(holds) ((deadheat_assume) ? (deadheat_assume)(holds) : (void)0)

#endif
