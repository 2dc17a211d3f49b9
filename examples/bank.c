// A small bank: tellers move money between accounts and write each transfer into a journal; at closing time
// the journal must explain every balance.
//
// A transfer locks both accounts, in one order: no money is lost and nothing deadlocks. The journal was
// added later, and takes no lock. Ordinary runs go well, hundreds in a row.

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ACCOUNTS = 8, TELLERS = 2, TRANSFERS = 8, OPENING_BALANCE = 1000 };

struct account {
    pthread_mutex_t lock;
    long balance;
};

struct entry {
    int from, to;
    long amount;
};

static struct account accounts[ACCOUNTS];
static struct entry journal[TELLERS * TRANSFERS];
static int entries;

static void record(int from, int to, long amount)
{
    int line = entries; // two tellers may be given the same line
    journal[line] = (struct entry){from, to, amount};
    entries = line + 1;
}

static int transfer(int from, int to, long amount)
{
    int first = from < to ? from : to, second = from < to ? to : from;
    pthread_mutex_lock(&accounts[first].lock);
    pthread_mutex_lock(&accounts[second].lock);
    int covered = accounts[from].balance >= amount;
    if (covered) {
        accounts[from].balance -= amount;
        accounts[to].balance += amount;
    }
    pthread_mutex_unlock(&accounts[second].lock);
    pthread_mutex_unlock(&accounts[first].lock);
    return covered;
}

static void *teller(void *argument)
{
    unsigned seed = *(unsigned *)argument;
    for (int i = 0; i < TRANSFERS; i++) {
        int from = rand_r(&seed) % ACCOUNTS, to = rand_r(&seed) % ACCOUNTS;
        long amount = 1 + rand_r(&seed) % 50;
        if (from != to && transfer(from, to, amount)) record(from, to, amount);
    }
    return NULL;
}

// Closing time: opening balances and journal together must give today's balances.
static void audit(void)
{
    long books[ACCOUNTS];
    for (int i = 0; i < ACCOUNTS; i++) books[i] = OPENING_BALANCE;
    for (int line = 0; line < entries; line++) {
        books[journal[line].from] -= journal[line].amount;
        books[journal[line].to] += journal[line].amount;
    }
    for (int i = 0; i < ACCOUNTS; i++) assert(books[i] == accounts[i].balance);
    printf("%d transfers, the books balance\n", entries);
}

int main(void)
{
    pthread_t tellers[TELLERS];
    unsigned seeds[TELLERS];
    for (int i = 0; i < ACCOUNTS; i++) {
        pthread_mutex_init(&accounts[i].lock, NULL);
        accounts[i].balance = OPENING_BALANCE;
    }
    for (unsigned i = 0; i < TELLERS; i++) {
        seeds[i] = i + 1;
        pthread_create(&tellers[i], NULL, teller, &seeds[i]);
    }
    for (int i = 0; i < TELLERS; i++) pthread_join(tellers[i], NULL);
    audit();
    return 0;
}
