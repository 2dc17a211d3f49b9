//@ frontends: gcc clang
//@ expect: real
// A destructor puts the base class's table in the object's place while another thread calls through it.
#include <pthread.h>

struct base {
    virtual int f() { return 1; }
    virtual ~base();
};
struct derived : base {
    int f() override { return 2; }
};

base *volatile shared;
int last;

__attribute__((noinline)) static int call(base *b) {
    return b->f(); // RACE!(a)
}

base::~base() { // RACE!(a)
    last = call(this);
}

static void *worker(void *arg) {
    return call(shared) > 2 ? nullptr : arg;
}

int main() {
    pthread_t t;
    shared = new derived;
    pthread_create(&t, nullptr, worker, nullptr);
    static_cast<derived *>(shared)->~derived();
    pthread_join(t, nullptr);
    return last != 1;
}
