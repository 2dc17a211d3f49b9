//@ expect: real
//@ stages: scan
//@ libraries: events
//@ flags: -levents
// Functions handed to code that is not seen, alone and in a structure, may be called by any thread from then on.
#include <pthread.h>

struct operations {
    void (*open)(void);
    int flags;
};

#ifdef LIBRARY_events
static void *call(void *f) { return ((void (*)(void))f)(), (void *)0; }
void register_handler(void (*f)(void)) { pthread_t t; pthread_create(&t, 0, call, f); pthread_detach(t); }
void register_operations(struct operations *o) { register_handler(o->open); }
#else
void register_handler(void (*f)(void));
void register_operations(struct operations *o);
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int handled, opened, guarded, before;

static void handler(void) {
    handled++; // RACE!(a)
    pthread_mutex_lock(&lock);
    guarded++;
    pthread_mutex_unlock(&lock);
}
static void open_it(void) {
    opened++; // RACE!(b)
}
struct operations operations = {open_it, 0};

int main(void) {
    before = 1;
    register_handler(handler);
    register_operations(&operations);
    handled++; // RACE!(a)
    opened++;  // RACE!(b)
    pthread_mutex_lock(&lock);
    guarded++;
    pthread_mutex_unlock(&lock);
    return 0;
}
#endif
