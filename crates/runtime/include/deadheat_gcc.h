/* Read first by gcc under `deadheat cc --frontend=gcc`: what clang does by itself for ThreadSanitizer, which is to call
 * these functions by names under which their accesses are seen. */
#ifndef __ASSEMBLER__
#ifdef __cplusplus
extern "C" {
#define DEADHEAT_NOTHROW throw()
#else
#define DEADHEAT_NOTHROW
#endif
extern void *memcpy(void *, const void *, __SIZE_TYPE__) DEADHEAT_NOTHROW __asm__("__tsan_memcpy");
extern void *memmove(void *, const void *, __SIZE_TYPE__) DEADHEAT_NOTHROW __asm__("__tsan_memmove");
extern void *memset(void *, int, __SIZE_TYPE__) DEADHEAT_NOTHROW __asm__("__tsan_memset");
#undef DEADHEAT_NOTHROW
#ifdef __cplusplus
}
#endif
#endif
