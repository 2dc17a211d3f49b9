//@ expect: real
//@ stages: scan
//@ libraries: loop
//@ flags: -lloop
// Functions registered with an event loop are called by whoever runs it: two loops, so two threads at once.
#include <pthread.h>

#ifdef LIBRARY_loop
static void (*callback)(int, short, void *);
static void *given;
int event_assign(void *e, void *base, int fd, short what, void (*f)(int, short, void *), void *arg) {
    return callback = f, given = arg, e == base;
}
int event_base_dispatch(void *base) { return callback(0, 0, given), base == 0; }
#else
int event_assign(void *, void *, int, short, void (*)(int, short, void *), void *);
int event_base_dispatch(void *);
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int events, guarded, started;

static void on_event(int fd, short what, void *arg) {
    events++; // RACE!(a)
    pthread_mutex_lock(&lock);
    guarded += fd + what + started + (arg != 0);
    pthread_mutex_unlock(&lock);
}

static void *serve(void *base) {
    event_base_dispatch(base);
    return 0;
}

int main(void) {
    static int event, base;
    pthread_t t;
    started = 1;
    event_assign(&event, &base, 0, 0, on_event, &event);
    pthread_create(&t, 0, serve, &base);
    event_base_dispatch(&base);
    pthread_join(t, 0);
    return 0;
}
#endif
