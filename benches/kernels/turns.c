/* Two threads that do nothing but give each other the turn: what a switch costs. */
#include <pthread.h>
#include <stdio.h>

enum { TURNS = 20000 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void *take_turns(void *argument) {
    int own = argument != 0;
    for (int i = 0; i < TURNS; i++) {
        pthread_mutex_lock(&lock);
        while (turn != own) pthread_cond_wait(&changed, &lock);
        turn = !own;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
    }
    return 0;
}

int main(void) {
    pthread_t other;
    pthread_create(&other, 0, take_turns, &turn);
    take_turns(0);
    pthread_join(other, 0);
    printf("%d\n", turn);
    return 0;
}
