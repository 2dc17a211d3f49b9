//@ expect: harmful(check)
//@ expect-output: same
// A lost update that only the output shows.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

volatile int sold;

static void *sell(void *arg) {
  int seen = sold; // RACE!(a)
  sold = seen + 1; // RACE!(a) RACE!(b)
  return arg;
}

int main(void) {
  pthread_t one, two;
  pthread_create(&one, 0, sell, 0);
  usleep(20000); // an ordinary run keeps them apart
  pthread_create(&two, 0, sell, 0);
  pthread_join(one, 0);
  pthread_join(two, 0);
  printf("sold %d\n", sold);
  return 0;
}
