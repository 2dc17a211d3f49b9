// A packet router made of elements: each argument is a chain of them, worked by a thread of its own.
//   router [-n PACKETS] CHAIN...      e.g.  router -n 500 ckqx rtq u
// c classify, k count, l count under a lock, t time to live, r route lookup, u update of routes (a source of its own),
// n address translation, h header checksum, f fragment, e early drop, s shape, q give to the queue, g take from the
// queue, m mirror, x transmit.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUTES = 64, FLOWS = 64, SLOTS = 16, PORTS = 4 };

struct packet {
    unsigned source, target, length, port, life, sum, kind;
    struct packet *next;
};

static int packets = 2000;
static int sources, takers;
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER, count_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t route_lock = PTHREAD_RWLOCK_INITIALIZER;

static struct { unsigned target, port; } routes[ROUTES];
static unsigned route_version;
static struct { unsigned inside, outside; } flows[FLOWS];
static unsigned next_outside = 40000;
static unsigned long kinds[4], seen, seen_bytes, exact, dropped, fragments, mirrored, shaped, sent[PORTS];
static unsigned average_length;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct packet *slots[SLOTS];
    int first, used, open;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static struct packet *make_packet(unsigned *state)
{
    struct packet *p = calloc(1, sizeof *p);
    *state = *state * 1103515245 + 12345;
    p->source = *state >> 8 & 0xff, p->target = *state >> 16 & 0x3f;
    p->length = 64 + (*state >> 20 & 0x3ff), p->life = 4 + (*state >> 28), p->kind = *state >> 12 & 3;
    return p;
}

static void classify(struct packet *p) { kinds[p->kind]++; }

static void count(struct packet *p)
{
    seen++;
    seen_bytes += p->length;
}

static void count_exactly(struct packet *p)
{
    pthread_mutex_lock(&count_lock);
    exact += p->length;
    pthread_mutex_unlock(&count_lock);
}

static int live(struct packet *p) { return --p->life > 0; }

static void look_up(struct packet *p)
{
    pthread_rwlock_rdlock(&route_lock);
    for (int i = 0; i < ROUTES; i++)
        if (routes[i].target == p->target) {
            p->port = routes[i].port;
            break;
        }
    pthread_rwlock_unlock(&route_lock);
}

static void update_route(unsigned step)
{
    pthread_rwlock_wrlock(&route_lock);
    routes[step % ROUTES].port = step % PORTS;
    pthread_rwlock_unlock(&route_lock);
    route_version++; // whoever shows it reads it without the lock
}

static void translate(struct packet *p)
{
    pthread_mutex_lock(&table_lock);
    unsigned slot = p->source % FLOWS;
    if (flows[slot].inside != p->source)
        flows[slot].inside = p->source, flows[slot].outside = next_outside++;
    p->source = flows[slot].outside;
    pthread_mutex_unlock(&table_lock);
}

static void check_sum(struct packet *p)
{
    const unsigned char *bytes = (const unsigned char *)p;
    unsigned sum = 0;
    for (size_t i = 0; i < 16; i++)
        sum = (sum << 1 | sum >> 31) ^ bytes[i];
    p->sum = sum;
}

static void fragment(struct packet *p)
{
    while (p->length > 512) {
        p->length -= 512;
        fragments++;
    }
}

static int drops_early(struct packet *p)
{
    average_length = (average_length * 7 + p->length) / 8;
    if (average_length <= 700)
        return 0;
    dropped++;
    return 1;
}

static void shape(struct packet *p)
{
    static __thread unsigned tokens;
    tokens += 600;
    if (tokens < p->length)
        usleep(1), shaped++;
    tokens = tokens < p->length ? 0 : tokens - p->length;
}

static void mirror(const struct packet *p)
{
    struct packet copy = *p;
    check_sum(&copy);
    mirrored += copy.sum & 1;
}

static void give(struct packet *p)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.used == SLOTS)
        pthread_cond_wait(&queue.changed, &queue.lock);
    queue.slots[(queue.first + queue.used++) % SLOTS] = p;
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
}

static struct packet *take(void)
{
    pthread_mutex_lock(&queue.lock);
    while (!queue.used && queue.open)
        pthread_cond_wait(&queue.changed, &queue.lock);
    struct packet *p = NULL;
    if (queue.used) {
        p = queue.slots[queue.first];
        queue.first = (queue.first + 1) % SLOTS, queue.used--;
        pthread_cond_broadcast(&queue.changed);
    }
    pthread_mutex_unlock(&queue.lock);
    return p;
}

static void close_queue(void)
{
    pthread_mutex_lock(&queue.lock);
    queue.open--;
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
}

static void transmit(struct packet *p) { __atomic_fetch_add(&sent[p->port % PORTS], 1, __ATOMIC_RELAXED); }

// Whether the packet is still here after the elements.
static int push(struct packet *p, const char *chain)
{
    for (; *chain; chain++)
        switch (*chain) {
        case 'c': classify(p); break;
        case 'k': count(p); break;
        case 'l': count_exactly(p); break;
        case 't': if (!live(p)) return 1; break;
        case 'r': look_up(p); break;
        case 'n': translate(p); break;
        case 'h': check_sum(p); break;
        case 'f': fragment(p); break;
        case 'e': if (drops_early(p)) return 1; break;
        case 's': shape(p); break;
        case 'm': mirror(p); break;
        case 'q': give(p); return 0;
        case 'x': transmit(p); break;
        }
    return 1;
}

static void *works(void *argument)
{
    const char *chain = argument;
    unsigned state = 99;
    if (*chain == 'u')
        for (int i = 0; i < packets; i++)
            update_route(i);
    else if (*chain == 'g')
        for (struct packet *p; (p = take());) {
            push(p, chain + 1);
            free(p);
        }
    else
        for (int i = 0; i < packets; i++) {
            struct packet *p = make_packet(&state);
            if (push(p, chain))
                free(p);
        }
    if (strchr(chain, 'q'))
        close_queue();
    return NULL;
}

int main(int argc, char **argv)
{
    for (int option; (option = getopt(argc, argv, "n:")) != -1;)
        packets = atoi(optarg);
    for (int i = 0; i < ROUTES; i++)
        routes[i].target = i, routes[i].port = i % PORTS;
    pthread_t thread[16];
    int chains = argc - optind;
    for (int i = 0; i < chains; i++)
        queue.open += strchr(argv[optind + i], 'q') != NULL, takers += argv[optind + i][0] == 'g';
    sources = chains - takers;
    if (chains > 16 || (queue.open && !takers))
        return fprintf(stderr, "at most 16 chains, and one that takes what others give\n"), 2;
    for (int i = 0; i < chains; i++)
        pthread_create(&thread[i], NULL, works, argv[optind + i]);
    for (int i = 0; i < chains; i++)
        pthread_join(thread[i], NULL);
    printf("%d sources, %d takers, %u routes\n", sources, takers, route_version);
    return 0;
}
