//@ expect: real
//@ stages: scan
// Both functions of RELAY's figure 1: the first is called with the lock and gives it back on both ways.
#include <pthread.h>

struct airo {
    pthread_mutex_t lock;
    struct {
        int ev;
    } pwr;
    struct {
        int rx_p;
    } stats;
};
struct device {
    struct airo *priv;
};
int vals[1] = {7};
struct airo airo = {PTHREAD_MUTEX_INITIALIZER, {1}, {0}};
struct device device = {&airo};

static void airo_read_stats(struct airo *ai) {
    if (!ai->pwr.ev) {
        pthread_mutex_unlock(&ai->lock);
        return;
    }
    pthread_mutex_unlock(&ai->lock);
    ai->stats.rx_p = vals[0]; // RACE!(a)
}

static void *airo_thread(void *arg) {
    struct device *dev = arg;
    struct airo *ai = dev->priv;
    pthread_mutex_lock(&ai->lock);
    ai->pwr.ev++;
    airo_read_stats(ai);
    return 0;
}

int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, airo_thread, &device);
    pthread_create(&u, 0, airo_thread, &device);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
