//@ expect: real
//@ libraries: first second
// A library is loaded, raced in, unloaded, and another one loaded in its place: each race has the lines of its own
// library, and what lay at these addresses before is forgotten.
#include <dlfcn.h>
#include <pthread.h>

#if defined LIBRARY_first
int guarded, early;
void step(void)
{
    early++; // RACE!(a)
}
#elif defined LIBRARY_second
int late;
void step(void)
{
    late--; // RACE!(b)
}
#else
static void (*step)(void);

static void *work(void *p)
{
    step();
    return p;
}

static int use(const char *file)
{
    void *library = dlopen(file, RTLD_NOW);
    if (!library)
        return 1;
    step = (void (*)(void))dlsym(library, "step");
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    step();
    pthread_join(thread, 0);
    return dlclose(library);
}

int main(void)
{
    return use("libfirst.so") || use("libsecond.so");
}
#endif
