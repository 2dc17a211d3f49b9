/* Four threads use one SQLite database file, each through a connection of its own, and one connection
   shared by all in serialised mode. Build together with the amalgamation:
     deadheat cc -g -O2 -DSQLITE_THREADSAFE=1 sqlite3.c sqlite_client.c -pthread -ldl -lm -o sqlite_client
   Prints the number of rows and a checksum, which do not depend on the schedule, and fails if they are wrong. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sqlite3.h"

enum { THREADS = 4, ROWS = 40 };

static const char *path = "client.db";
static sqlite3 *shared;

static void must(int result, sqlite3 *db, const char *what) {
  if (result == SQLITE_OK || result == SQLITE_DONE || result == SQLITE_ROW)
    return;
  fprintf(stderr, "%s: %s\n", what, db ? sqlite3_errmsg(db) : "no connection");
  exit(2);
}

static void execute(sqlite3 *db, const char *sql) {
  int result;
  do
    result = sqlite3_exec(db, sql, NULL, NULL, NULL);
  while (result == SQLITE_BUSY || result == SQLITE_LOCKED);
  must(result, db, sql);
}

static void *worker(void *argument) {
  long number = (long)argument;
  sqlite3 *own;
  must(sqlite3_open(path, &own), NULL, "open");
  sqlite3_busy_timeout(own, 10000);
  execute(own, "PRAGMA synchronous=OFF"); /* no waiting for the disk */
  char sql[128];
  for (long i = 0; i < ROWS; i++) {
    sqlite3 *db = i % 2 ? own : shared;
    snprintf(sql, sizeof sql, "INSERT INTO t(thread, value) VALUES(%ld, %ld)", number, i * i);
    execute(db, sql);
    if (i % 8 == 0)
      execute(db, "SELECT count(*), sum(value) FROM t WHERE thread >= 0");
  }
  must(sqlite3_close(own), own, "close");
  return NULL;
}

static int print_row(void *wrong, int columns, char **values, char **names) {
  static const char *const expected[] = {"160", "205400"};
  for (int i = 0; i < columns; i++)
    *(int *)wrong |= !values[i] || strcmp(values[i], expected[i]) != 0;
  for (int i = 0; i < columns; i++)
    printf("%s=%s%c", names[i], values[i] ? values[i] : "null", i + 1 < columns ? ' ' : '\n');
  return 0;
}

int main(void) {
  unlink(path);
  must(sqlite3_open(path, &shared), NULL, "open");
  sqlite3_busy_timeout(shared, 10000);
  execute(shared, "PRAGMA journal_mode=WAL");
  execute(shared, "PRAGMA synchronous=OFF");
  execute(shared, "CREATE TABLE t(thread INTEGER, value INTEGER)");
  pthread_t threads[THREADS];
  for (long i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, worker, (void *)i);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  int wrong = 0;
  must(sqlite3_exec(shared, "SELECT count(*) AS rows, sum(value * (thread + 1)) AS checksum FROM t", print_row, &wrong,
                    NULL),
       shared, "select");
  must(sqlite3_close(shared), shared, "close");
  return wrong ? 3 : 0;
}
