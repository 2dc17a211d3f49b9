//@ expect: misuse
//@ levels: O1 what the calls do is the same at each
// Handles of threads that were given up already: joined or detached before.
#include <pthread.h>
#include <semaphore.h>

sem_t go;

static void *ends(void *arg) { return arg; }

static void *stays(void *arg) {
    sem_wait(&go);
    return arg;
}

int main(void) {
    pthread_t t;
    sem_init(&go, 0, 0);
    pthread_create(&t, 0, ends, 0);
    pthread_join(t, 0);
    pthread_join(t, 0); // RACE!(joined)
    pthread_detach(t); // RACE!(joined_and_detached)

    pthread_create(&t, 0, stays, 0);
    pthread_detach(t);
    pthread_join(t, 0); // RACE!(detached)
    pthread_detach(t); // RACE!(twice)
    sem_post(&go);
    return 0;
}
