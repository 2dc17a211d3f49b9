//@ expect: none
// A lock in assembly at file level: what it orders is not seen, so nothing is called unordered.
#include <pthread.h>
#include <sched.h>

__asm__(".text\n"
        "taken: mov $1, %eax\n"
        "xchg %eax, word(%rip)\n"
        "ret\n"
        "give: movl $0, word(%rip)\n"
        "ret\n"
        ".bss\n"
        ".align 4\n"
        "word: .long 0\n"
        ".text\n");
int taken(void);
void give(void);
int data;

static void *adds(void *p)
{
    while (taken())
        sched_yield();
    data++; // MAY(hunt:a) the lock is not seen
    give();
    return p;
}

int main(void)
{
    pthread_t t, u;
    pthread_create(&t, 0, adds, 0);
    pthread_create(&u, 0, adds, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return data == 2 ? 0 : 1;
}
