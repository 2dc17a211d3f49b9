//@ expect: harmful(check)
//@ check: awk '{ if ($1 + $2 != 100) { print "money is lost: " $0; exit 1 } }'
// Money that is lost without a sign: a check on the output sees that the two do not add up.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

volatile int here = 100;
int there[2];

static void *transfer(void *arg) {
  int seen = here; // RACE!(a)
  here = seen - 10; // RACE!(a) RACE!(b)
  *(int *)arg += 10;
  return arg;
}

int main(void) {
  pthread_t one, two;
  pthread_create(&one, 0, transfer, &there[0]);
  usleep(20000); // an ordinary run keeps them apart
  pthread_create(&two, 0, transfer, &there[1]);
  pthread_join(one, 0);
  pthread_join(two, 0);
  printf("%d %d\n", here, there[0] + there[1]);
  return 0;
}
