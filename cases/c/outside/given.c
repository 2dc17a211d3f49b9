//@ expect: real
//@ stages: scan
//@ libraries: registry
//@ flags: -lregistry
// Objects that code gives which is not seen may be one object, whichever function gives them; their types tell them apart.
#include <pthread.h>

struct entry {
    int count;
    int limit;
};
struct table {
    struct entry first;
};

#ifdef LIBRARY_registry
static struct table only;
struct entry *get_entry(void) { return &only.first; }
struct table *get_table(void) { return &only; }
#else
struct entry *get_entry(void);
struct table *get_table(void);

static void *worker(void *arg) {
    get_entry()->count = 1; // RACE!(a)
    get_table()->first.limit = 2; // RACE!(b)
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, 0);
    get_table()->first.count = 3; // RACE!(a)
    get_entry()->limit = 4;       // RACE!(b)
    pthread_join(t, 0);
    return 0;
}
#endif
