// The object that every linked module (program or shared library) gets one of.
//
// It holds the words that the module's detecting bodies read, hidden so that they are reached without a
// table, and tells the runtime at start where the module's tables are. In a program without the runtime
// (a library loaded into a foreign program) nobody is told, and nothing else happens.
// It uses no libc: it is linked into libraries that do without one, too.

#include <stdint.h>

// dh_ctx: the running thread's context, in all lanes, for 4-byte and 16-byte compares.
// dh_budget: back edges until the runtime is asked again.
// One block, in one cache line: the runtime updates each module's on every switch.
extern uint32_t dh_ctx[8];
extern int64_t dh_budget;
__asm__(".pushsection .bss.dh_block,\"aw\",@nobits\n"
        ".balign 64\n"
        ".globl dh_ctx, dh_budget\n"
        ".hidden dh_ctx, dh_budget\n"
        ".type dh_ctx, @object\n"
        ".type dh_budget, @object\n"
        ".size dh_ctx, 32\n"
        ".size dh_budget, 8\n"
        "dh_ctx: .skip 32\n"
        "dh_budget: .skip 8\n"
        ".balign 64\n"
        ".popsection\n");

#define TABLE(name)                                                                                                    \
    extern const char __start_##name[] __attribute__((weak, visibility("hidden")));                                    \
    extern const char __stop_##name[] __attribute__((weak, visibility("hidden")))
TABLE(dh_descs);
TABLE(dh_sites);
TABLE(dh_variants);
TABLE(dh_units);

// The module's first byte, from the linker.
extern const char __ehdr_start[] __attribute__((weak, visibility("hidden")));

// Read by the runtime; the layout is shared with crates/runtime/src/site.
struct dh_module {
    uint32_t version; // of the layouts in crates/wire/src/object.rs
    uint32_t pad;
    const char *descs, *descs_end;
    const char *sites, *sites_end;
    const char *variants, *variants_end;
    const char *units, *units_end;
    uint32_t *ctx;
    int64_t *budget;
    const void *self;
};

static const struct dh_module module = {
    .version = DEADHEAT_OBJECT_VERSION, // given by the build
    .descs = __start_dh_descs,
    .descs_end = __stop_dh_descs,
    .sites = __start_dh_sites,
    .sites_end = __stop_dh_sites,
    .variants = __start_dh_variants,
    .variants_end = __stop_dh_variants,
    .units = __start_dh_units,
    .units_end = __stop_dh_units,
    .ctx = dh_ctx,
    .budget = &dh_budget,
    .self = __ehdr_start,
};

extern void dh_register_module(const struct dh_module *) __attribute__((weak));

static void enter(void)
{
    if (dh_register_module) dh_register_module(&module);
}

// Ahead of the program's own constructors, whatever their priority.
__attribute__((section(".init_array.00000"), used, retain)) static void (*const constructor)(void) = enter;
