//@ expect: real
//@ stages: scan
// A function starts two threads for its caller, another one waits for both: what follows is alone.
#include <pthread.h>

struct job {
    pthread_mutex_t lock;
    int guarded, open;
};
static pthread_t first, second;

static void *worker(void *arg) {
    struct job *job = arg;
    pthread_mutex_lock(&job->lock);
    job->guarded++;
    pthread_mutex_unlock(&job->lock);
    job->open++; // RACE!(a)
    return 0;
}

static void start(struct job *job) {
    pthread_mutex_init(&job->lock, 0);
    job->guarded = 0;
    pthread_create(&first, 0, worker, job);
    pthread_create(&second, 0, worker, job);
}

static void stop(struct job *job) {
    pthread_join(first, 0);
    pthread_join(second, 0);
    pthread_mutex_destroy(&job->lock);
}

int main(void) {
    struct job job;
    job.open = 0;
    start(&job);
    stop(&job);
    job.open++;
    return job.guarded != 2;
}
