// Models of library functions for a program's symbolic flavour: plain C, instrumented like the program, so
// that what they do with symbolic bytes leaves its constraints. `names.txt` lists them; the pass sends calls of
// NAME to dh_model_NAME. Each gives what the C library's function gives for the same bytes; messages, locale
// tables other than "C" and floating point are not modelled.
//
// Built without built-ins, or the loops below would become calls of the functions that they model.

#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#undef errno
#define errno (*__errno_location())

typedef unsigned char u8;

// The runtime's side.
extern int dh_sym_active(void);
extern void dh_sym_mark(void *bytes, size_t length, unsigned source, unsigned offset);
extern void dh_sym_assume(int holds);
extern int dh_sym_is_source(int fd);
extern void dh_sym_streamed(int fd, off_t at, void *bytes, size_t got, size_t wanted);
extern int dh_sym_ends_at(int fd, off_t at, off_t *size);
extern void dh_sym_status(int fd, const char *path, struct stat *status);
extern unsigned dh_sym_room(void);
extern int dh_sym_most_arguments(void);
extern unsigned dh_sym_variable(const char *name, int *set);
extern void dh_sym_branches(void *start, void *stop);
extern void dh_sym_copy(void *to, const void *from, size_t n);
extern void dh_sym_fill(void *to, unsigned id, size_t value, size_t n);
extern void dh_sym_lost(void);
extern int dh_sym_any(const void *bytes, size_t n);

#define SOURCE(kind, low) ((unsigned)(kind) << 24 | (unsigned)(low))
enum { ARGUMENT = 3, ARGUMENT_COUNT = 4, VARIABLE = 5, VARIABLE_SET = 6 };

// ---- the program's rows of branches

extern char __start_dh_branches[] __attribute__((weak, visibility("hidden")));
extern char __stop_dh_branches[] __attribute__((weak, visibility("hidden")));

__attribute__((constructor(101))) static void dh_model_start(void)
{
    dh_sym_branches(__start_dh_branches, __stop_dh_branches);
}

// ---- arguments and environment

// A copy with room behind it: the terminator and the bytes after it are input, too, so that the string may grow.
static char *dh_model_grown(const char *text, unsigned source)
{
    size_t n = 0;
    while (text[n]) n++;
    size_t room = n + dh_sym_room();
    char *copy = calloc(1, room + 1);
    if (!copy) return 0;
    for (size_t i = 0; i < n; i++) copy[i] = text[i];
    dh_sym_mark(copy, room, source, 0);
    return copy;
}

char **dh_model_argv(int argc, char **argv)
{
    if (!dh_sym_active()) return argv;
    char **copy = calloc((size_t)argc + 1, sizeof *copy);
    if (!copy) return argv;
    copy[0] = argv[0];
    for (int n = 1; n < argc; n++) {
        copy[n] = dh_model_grown(argv[n], SOURCE(ARGUMENT, n));
        if (!copy[n]) copy[n] = argv[n];
    }
    return copy;
}

int dh_model_argc(int argc)
{
    int most = dh_sym_most_arguments();
    if (!dh_sym_active() || argc < 1 || argc > most) return argc;
    u8 count = (u8)argc;
    dh_sym_mark(&count, 1, SOURCE(ARGUMENT_COUNT, 0), 0);
    dh_sym_assume(count >= 1);
    dh_sym_assume(count <= most);
    return count;
}

struct dh_variable {
    struct dh_variable *next;
    const char *value;
    char *copy;
    unsigned source;
};
static struct dh_variable *dh_variables;

char *dh_model_getenv(const char *name)
{
    char *value = getenv(name);
    if (!dh_sym_active()) return value;
    int may = 0;
    unsigned source = dh_sym_variable(name, &may);
    if (!may) return value;
    u8 set = value != 0;
    dh_sym_mark(&set, 1, SOURCE(VARIABLE_SET, source & 0xffffff), 0);
    dh_sym_assume(set <= 1);
    if (!set) return 0;
    for (struct dh_variable *v = dh_variables; v; v = v->next)
        if (v->source == source && v->value == value) return v->copy;
    struct dh_variable *v = malloc(sizeof *v);
    if (!v) return value;
    v->next = dh_variables;
    v->value = value;
    v->copy = dh_model_grown(value, source);
    v->source = source;
    dh_variables = v;
    return v->copy ? v->copy : value;
}

char *dh_model_secure_getenv(const char *name) { return dh_model_getenv(name); }

// ---- memory

void *dh_model_memcpy(void *to, const void *from, size_t n)
{
    dh_sym_copy(to, from, n);
    return memcpy(to, from, n);
}

void *dh_model_memmove(void *to, const void *from, size_t n)
{
    dh_sym_copy(to, from, n);
    return memmove(to, from, n);
}

void *dh_model_mempcpy(void *to, const void *from, size_t n) { return (char *)dh_model_memcpy(to, from, n) + n; }

void *dh_model_memset(void *to, int value, size_t n)
{
    // A builtin on purpose: the pass knows what becomes of the value's expression.
    __builtin_memset(to, value, n);
    return to;
}

// ---- comparing

// What is compared without a branch, so that the program's own branch on the result asks for all bytes at once.
enum { COMPARED = 64 };

static int dh_model_lower(int c) { return c + (((unsigned)c - 'A' < 26) << 5); }

// The order of the first `n` bytes, as one expression; where `text`, nothing counts behind a terminator.
static int dh_model_order(const u8 *a, const u8 *b, size_t n, int text, int fold)
{
    int order = 0;
    while (n--) {
        int x = a[n], y = b[n];
        if (fold) x = dh_model_lower(x), y = dh_model_lower(y);
        // By masks: a choice that is written as one becomes a branch.
        int ended = -(text & (x == 0)), differs = -(x != y), sign = 1 - ((x < y) << 1);
        order = (differs & sign) | (~differs & ~ended & order);
    }
    return order;
}

int dh_model_memcmp(const void *x, const void *y, size_t n)
{
    if (!dh_sym_any(x, n) && !dh_sym_any(y, n)) return memcmp(x, y, n);
    const u8 *a = x, *b = y;
    for (; n > COMPARED; a++, b++, n--)
        if (*a != *b) return *a < *b ? -1 : 1;
    return dh_model_order(a, b, n, 0, 0);
}

int dh_model_bcmp(const void *x, const void *y, size_t n) { return dh_model_memcmp(x, y, n); }

// How far texts are compared. Against a fixed one as far as that goes, where the other's terminator is input and there is
// room behind it; else up to the end of the shorter one: what lies behind may be nobody's.
static size_t dh_model_reach(const char *text, const char *fixed, size_t most)
{
    size_t n = 0;
    while (n < most) {
        const char *at = text + n, end = fixed[n];
        n++;
        if (!end || (!*at && !(dh_sym_any(at, 1) && dh_sym_any(at + 1, 1)))) break;
    }
    return n;
}

static int dh_model_texts(const char *a, const char *b, size_t most, int fold)
{
    size_t length = strnlen(a, most), other = strnlen(b, most), n;
    int is_input = dh_sym_any(a, length < most ? length + 1 : most), too = dh_sym_any(b, other < most ? other + 1 : most);
    if (!is_input && !too) return fold ? strncasecmp(a, b, most) : strncmp(a, b, most);
    if (!too) n = dh_model_reach(a, b, most);
    else if (!is_input) n = dh_model_reach(b, a, most);
    else {
        n = length < other ? length : other;
        if (n < most) n++;
    }
    for (; n > COMPARED; a++, b++, n--) {
        int x = (u8)*a, y = (u8)*b;
        if (fold) x = dh_model_lower(x), y = dh_model_lower(y);
        if (x != y) return x < y ? -1 : 1;
        if (!x) return 0;
    }
    return dh_model_order((const u8 *)a, (const u8 *)b, n, 1, fold);
}

void *dh_model_memchr(const void *s, int c, size_t n)
{
    for (const u8 *p = s; n; p++, n--)
        if (*p == (u8)c) return (void *)p;
    return 0;
}

void *dh_model_memrchr(const void *s, int c, size_t n)
{
    const u8 *p = s;
    while (n--)
        if (p[n] == (u8)c) return (void *)(p + n);
    return 0;
}

// ---- strings

size_t dh_model_strlen(const char *s)
{
    size_t n = 0;
    while (s[n]) n++;
    return n;
}

size_t dh_model_strnlen(const char *s, size_t most)
{
    size_t n = 0;
    while (n < most && s[n]) n++;
    return n;
}

enum { LONGEST = INT_MAX };

int dh_model_strcmp(const char *a, const char *b) { return dh_model_texts(a, b, LONGEST, 0); }
int dh_model_strncmp(const char *a, const char *b, size_t n) { return dh_model_texts(a, b, n, 0); }
int dh_model_strcasecmp(const char *a, const char *b) { return dh_model_texts(a, b, LONGEST, 1); }
int dh_model_strncasecmp(const char *a, const char *b, size_t n) { return dh_model_texts(a, b, n, 1); }
int dh_model_tolower(int c) { return dh_model_lower(c); }
int dh_model_toupper(int c) { return c - (((unsigned)c - 'a' < 26) << 5); }

char *dh_model_strchr(const char *s, int c)
{
    for (;; s++) {
        if (*s == (char)c) return (char *)s;
        if (!*s) return 0;
    }
}

char *dh_model_strchrnul(const char *s, int c)
{
    while (*s && *s != (char)c) s++;
    return (char *)s;
}

char *dh_model_strrchr(const char *s, int c)
{
    const char *found = 0;
    for (;; s++) {
        if (*s == (char)c) found = s;
        if (!*s) return (char *)found;
    }
}

char *dh_model_strstr(const char *s, const char *wanted)
{
    if (!*wanted) return (char *)s;
    for (; *s; s++) {
        size_t n = 0;
        while (wanted[n] && s[n] == wanted[n]) n++;
        if (!wanted[n]) return (char *)s;
    }
    return 0;
}

static int dh_model_in(const char *set, char c)
{
    for (; *set; set++)
        if (*set == c) return 1;
    return 0;
}

size_t dh_model_strspn(const char *s, const char *set)
{
    size_t n = 0;
    while (s[n] && dh_model_in(set, s[n])) n++;
    return n;
}

size_t dh_model_strcspn(const char *s, const char *set)
{
    size_t n = 0;
    while (s[n] && !dh_model_in(set, s[n])) n++;
    return n;
}

char *dh_model_strpbrk(const char *s, const char *set)
{
    s += dh_model_strcspn(s, set);
    return *s ? (char *)s : 0;
}

char *dh_model_stpcpy(char *to, const char *from)
{
    while ((*to = *from)) to++, from++;
    return to;
}

char *dh_model_strcpy(char *to, const char *from)
{
    dh_model_stpcpy(to, from);
    return to;
}

char *dh_model_strncpy(char *to, const char *from, size_t n)
{
    size_t i = 0;
    for (; i < n && from[i]; i++) to[i] = from[i];
    for (; i < n; i++) to[i] = 0;
    return to;
}

char *dh_model_strcat(char *to, const char *from)
{
    dh_model_stpcpy(to + dh_model_strlen(to), from);
    return to;
}

char *dh_model_strncat(char *to, const char *from, size_t n)
{
    char *end = to + dh_model_strlen(to);
    for (; n && *from; n--) *end++ = *from++;
    *end = 0;
    return to;
}

char *dh_model_strndup(const char *s, size_t most)
{
    size_t n = dh_model_strnlen(s, most);
    char *copy = malloc(n + 1);
    if (!copy) return 0;
    for (size_t i = 0; i < n; i++) copy[i] = s[i];
    copy[n] = 0;
    return copy;
}

char *dh_model_strdup(const char *s) { return dh_model_strndup(s, (size_t)-1 >> 1); }

char *dh_model_strtok_r(char *s, const char *set, char **rest)
{
    if (!s) s = *rest;
    if (!s) return 0;
    s += dh_model_strspn(s, set);
    if (!*s) {
        *rest = s;
        return 0;
    }
    char *end = s + dh_model_strcspn(s, set);
    if (*end) *end++ = 0;
    *rest = end;
    return s;
}

char *dh_model_strtok(char *s, const char *set)
{
    static char *rest;
    return dh_model_strtok_r(s, set, &rest);
}

// ---- numbers

// Without branches, so that the program's own one decides.
int dh_model_isdigit(int c) { return (unsigned)c - '0' < 10; }
int dh_model_isspace(int c) { return (c == ' ') | ((unsigned)c - 9 < 5); }
int dh_model_isupper(int c) { return (unsigned)c - 'A' < 26; }
int dh_model_islower(int c) { return (unsigned)c - 'a' < 26; }
int dh_model_isalpha(int c) { return ((unsigned)c | 32) - 'a' < 26; }
int dh_model_isalnum(int c) { return dh_model_isalpha(c) | dh_model_isdigit(c); }
int dh_model_isxdigit(int c) { return dh_model_isdigit(c) | (((unsigned)c | 32) - 'a' < 6); }
int dh_model_isprint(int c) { return (unsigned)c - 32 < 95; }
int dh_model_ispunct(int c) { return ((unsigned)c - 33 < 94) & !dh_model_isalnum(c); }
int dh_model_abs(int n) { return n < 0 ? -n : n; }
long dh_model_labs(long n) { return n < 0 ? -n : n; }

// Digits with sign and base prefix; `over` is set where the magnitude does not fit 64 bits.
static unsigned long dh_model_number(const char *s, char **end, int base, int *minus, int *over)
{
    const char *begin = s;
    unsigned long value = 0;
    int any = 0;
    *minus = *over = 0;
    while (dh_model_isspace((u8)*s)) s++;
    if (*s == '-') {
        *minus = 1;
        s++;
    } else if (*s == '+')
        s++;
    if ((base == 0 || base == 16) && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') && dh_model_isxdigit((u8)s[2])) {
        base = 16;
        s += 2;
    }
    if (base == 0) base = *s == '0' ? 8 : 10;
    for (;; s++) {
        int digit;
        if (*s >= '0' && *s <= '9') digit = *s - '0';
        else if (*s >= 'a' && *s <= 'z') digit = *s - 'a' + 10;
        else if (*s >= 'A' && *s <= 'Z') digit = *s - 'A' + 10;
        else break;
        if (digit >= base) break;
        // Twelve digits fit in any base up to 36: no test of the value, which would burden every constraint.
        if (any >= 12 && (*over || value > (ULONG_MAX - (unsigned)digit) / (unsigned)base)) *over = 1;
        value = value * (unsigned)base + (unsigned)digit;
        any++;
    }
    if (end) *end = (char *)(any ? s : begin);
    return value;
}

long dh_model_strtol(const char *s, char **end, int base)
{
    int minus, over;
    const char *stop;
    unsigned long value = dh_model_number(s, (char **)&stop, base, &minus, &over);
    if (end) *end = (char *)stop;
    // Only long numbers can be out of range.
    if (stop - s > 12 && (over || value > (unsigned long)LONG_MAX + (unsigned)minus)) {
        errno = ERANGE;
        return minus ? LONG_MIN : LONG_MAX;
    }
    return minus ? (long)-value : (long)value;
}

unsigned long dh_model_strtoul(const char *s, char **end, int base)
{
    int minus, over;
    unsigned long value = dh_model_number(s, end, base, &minus, &over);
    if (over) {
        errno = ERANGE;
        return ULONG_MAX;
    }
    return minus ? -value : value;
}

long long dh_model_strtoll(const char *s, char **end, int base) { return dh_model_strtol(s, end, base); }
unsigned long long dh_model_strtoull(const char *s, char **end, int base) { return dh_model_strtoul(s, end, base); }
long dh_model___isoc23_strtol(const char *s, char **end, int base) { return dh_model_strtol(s, end, base); }
unsigned long dh_model___isoc23_strtoul(const char *s, char **end, int base) { return dh_model_strtoul(s, end, base); }
long long dh_model___isoc23_strtoll(const char *s, char **end, int base) { return dh_model_strtol(s, end, base); }
unsigned long long dh_model___isoc23_strtoull(const char *s, char **end, int base)
{
    return dh_model_strtoul(s, end, base);
}
int dh_model_atoi(const char *s) { return (int)dh_model_strtol(s, 0, 10); }
long dh_model_atol(const char *s) { return dh_model_strtol(s, 0, 10); }
long long dh_model_atoll(const char *s) { return dh_model_strtol(s, 0, 10); }

// ---- streams

// The length of a file is input, too, where the program asks for it.
int dh_model_fstat(int fd, struct stat *status)
{
    int error = fstat(fd, status);
    if (!error && dh_sym_active()) dh_sym_status(fd, 0, status);
    return error;
}

int dh_model_stat(const char *path, struct stat *status)
{
    int error = stat(path, status);
    if (!error && dh_sym_active()) dh_sym_status(-1, path, status);
    return error;
}

off_t dh_model_lseek(int fd, off_t offset, int whence)
{
    off_t at = lseek(fd, offset, whence), size;
    if (whence == SEEK_END && dh_sym_ends_at(fd, at - offset, &size)) return size + offset;
    return at;
}

off_t dh_model_ftello(FILE *f)
{
    off_t at = ftello(f), size;
    return dh_sym_active() && dh_sym_ends_at(fileno(f), at, &size) ? size : at;
}

int dh_model_fstat64(int fd, struct stat *status) { return dh_model_fstat(fd, status); }
int dh_model_stat64(const char *path, struct stat *status) { return dh_model_stat(path, status); }
off_t dh_model_lseek64(int fd, off_t offset, int whence) { return dh_model_lseek(fd, offset, whence); }
long dh_model_ftell(FILE *f) { return dh_model_ftello(f); }
off_t dh_model_ftello64(FILE *f) { return dh_model_ftello(f); }

// Whether the stream reads input, and where it stands.
static int dh_model_stands(FILE *f, off_t *at)
{
    if (!dh_sym_active() || !dh_sym_is_source(fileno(f))) return 0;
    *at = ftello(f);
    return *at >= 0;
}

int dh_model_fgetc(FILE *f)
{
    off_t at;
    if (!dh_model_stands(f, &at)) return fgetc(f);
    int c = fgetc(f);
    u8 byte = (u8)c;
    dh_sym_streamed(fileno(f), at, &byte, c >= 0, 1);
    return c < 0 ? c : byte;
}

int dh_model_getc(FILE *f) { return dh_model_fgetc(f); }
int dh_model__IO_getc(FILE *f) { return dh_model_fgetc(f); }
int dh_model_getchar(void) { return dh_model_fgetc(stdin); }

int dh_model_ungetc(int c, FILE *f)
{
    // glibc goes one byte back where the byte is the one that was read, and that is symbolic again when read
    // again; another byte put there would be taken for the file's.
    return ungetc(c, f);
}

size_t dh_model_fread(void *to, size_t size, size_t count, FILE *f)
{
    off_t at;
    if (!dh_model_stands(f, &at)) return fread(to, size, count, f);
    size_t whole = fread(to, size, count, f);
    off_t now = ftello(f);
    size_t got = now > at ? (size_t)(now - at) : 0;
    dh_sym_streamed(fileno(f), at, to, got, size * count);
    return whole;
}

char *dh_model_fgets(char *to, int size, FILE *f)
{
    off_t at;
    if (!dh_model_stands(f, &at)) return fgets(to, size, f);
    int n = 0;
    while (n < size - 1) {
        int c = dh_model_fgetc(f);
        if (c < 0) break;
        to[n++] = (char)c;
        if (c == '\n') break;
    }
    if (n == 0 || ferror(f)) return 0;
    to[n] = 0;
    return to;
}

ssize_t dh_model_getdelim(char **line, size_t *size, int delimiter, FILE *f)
{
    off_t at;
    if (!dh_model_stands(f, &at)) return getdelim(line, size, delimiter, f);
    size_t n = 0;
    for (;;) {
        if (!*line || n + 2 > *size) {
            size_t more = *size < 120 ? 120 : *size * 2;
            char *grown = malloc(more);
            if (!grown) return -1;
            for (size_t i = 0; i < n; i++) grown[i] = (*line)[i];
            free(*line);
            *line = grown;
            *size = more;
        }
        int c = dh_model_fgetc(f);
        if (c < 0) break;
        (*line)[n++] = (char)c;
        if (c == delimiter) break;
    }
    (*line)[n] = 0;
    return n ? (ssize_t)n : -1;
}

ssize_t dh_model_getline(char **line, size_t *size, FILE *f) { return dh_model_getdelim(line, size, '\n', f); }

// ---- scanf

struct dh_scan {
    FILE *file;
    const char *text;
    long read;
};

static int dh_model_next(struct dh_scan *s)
{
    int c;
    if (s->file) c = dh_model_fgetc(s->file);
    else if (*s->text) c = (u8)*s->text++;
    else return -1;
    if (c >= 0) s->read++;
    return c;
}

static void dh_model_back(struct dh_scan *s, int c)
{
    if (c < 0) return;
    s->read--;
    if (s->file) ungetc(c, s->file);
    else s->text--;
}

// Whether every conversion is one of those below.
static int dh_model_scannable(const char *format)
{
    for (const char *p = format; *p; p++) {
        if (*p != '%') continue;
        p++;
        if (*p == '*') p++;
        while (*p >= '0' && *p <= '9') p++;
        while (*p == 'l' || *p == 'h' || *p == 'z' || *p == 'j') p++;
        if (!*p || !dh_model_in("diuxXocsn%[", *p)) return 0;
        if (*p == '[') {
            p++;
            if (*p == '^') p++;
            if (*p == ']') p++;
            while (*p && *p != ']') p++;
            if (!*p) return 0;
        }
    }
    return 1;
}

static int dh_model_matches(const char *set, const char *end, int inverse, int c)
{
    int in = 0;
    for (const char *p = set; p < end; p++) {
        if (p + 2 < end && p[1] == '-') {
            if (c >= (u8)p[0] && c <= (u8)p[2]) in = 1;
            p += 2;
        } else if (c == (u8)*p)
            in = 1;
    }
    return in != inverse;
}

static void dh_model_put(va_list *list, int size, long value)
{
    void *to = va_arg(*list, void *);
    if (size == 1) *(signed char *)to = (signed char)value;
    else if (size == 2) *(short *)to = (short)value;
    else if (size == 8) *(long *)to = value;
    else *(int *)to = (int)value;
}

static int dh_model_scan(struct dh_scan *s, const char *format, va_list *list)
{
    int done = 0, c;
    for (const char *p = format; *p; p++) {
        if (dh_model_isspace((u8)*p)) {
            do c = dh_model_next(s);
            while (c >= 0 && dh_model_isspace(c));
            dh_model_back(s, c);
            continue;
        }
        if (*p != '%' || p[1] == '%') {
            if (*p == '%') {
                p++;
                do c = dh_model_next(s);
                while (c >= 0 && dh_model_isspace(c));
            } else
                c = dh_model_next(s);
            if (c == (u8)*p) continue;
            dh_model_back(s, c);
            return c < 0 && !done ? -1 : done;
        }
        p++;
        int keep = 1, width = 0, size = 4;
        if (*p == '*') keep = 0, p++;
        while (*p >= '0' && *p <= '9') width = width * 10 + (*p++ - '0');
        for (; *p == 'l' || *p == 'h' || *p == 'z' || *p == 'j'; p++) {
            if (*p == 'h') size = size == 2 ? 1 : 2;
            else size = 8;
        }
        char kind = *p;
        if (kind == 'n') {
            if (keep) dh_model_put(list, size, s->read);
            continue;
        }
        if (kind != 'c' && kind != '[') {
            do c = dh_model_next(s);
            while (c >= 0 && dh_model_isspace(c));
        } else
            c = dh_model_next(s);
        if (c < 0) return done ? done : -1;
        if (kind == 'c') {
            char *to = keep ? va_arg(*list, char *) : 0;
            for (int n = width ? width : 1;;) {
                if (to) *to++ = (char)c;
                if (!--n) break;
                if ((c = dh_model_next(s)) < 0) return done ? done : -1;
            }
            done += keep;
            continue;
        }
        if (kind == 's' || kind == '[') {
            const char *set = 0, *end = 0;
            int inverse = 0;
            if (kind == '[') {
                p++;
                if (*p == '^') inverse = 1, p++;
                set = p;
                if (*p == ']') p++;
                while (*p != ']') p++;
                end = p;
            }
            char *to = keep ? va_arg(*list, char *) : 0;
            int n = 0;
            while (c >= 0 && (set ? dh_model_matches(set, end, inverse, c) : !dh_model_isspace(c))) {
                if (to) to[n] = (char)c;
                n++;
                if (width && n == width) {
                    c = -2;
                    break;
                }
                c = dh_model_next(s);
            }
            dh_model_back(s, c);
            if (!n) return done;
            if (to) to[n] = 0;
            done += keep;
            continue;
        }
        // Numbers: the longest prefix of a number's form, in a buffer, then as strtol.
        char text[68];
        int n = 0, base = kind == 'o' ? 8 : kind == 'x' || kind == 'X' ? 16 : kind == 'i' ? 0 : 10, digits = 0;
        int most = width && width < 66 ? width : 66;
        if (c == '-' || c == '+') {
            text[n++] = (char)c;
            c = n < most ? dh_model_next(s) : -2;
        }
        if ((base == 0 || base == 16) && c == '0' && n < most) {
            text[n++] = (char)c;
            digits = 1;
            c = n < most ? dh_model_next(s) : -2;
            if (c == 'x' || c == 'X') {
                if (base == 0) base = 16;
                text[n++] = (char)c;
                c = n < most ? dh_model_next(s) : -2;
            } else if (base == 0)
                base = 8;
        }
        if (base == 0) base = 10;
        while (c >= 0 && n < most && (base == 16 ? dh_model_isxdigit(c) : c >= '0' && c < '0' + base)) {
            text[n++] = (char)c;
            digits = 1;
            c = n < most ? dh_model_next(s) : -2;
        }
        dh_model_back(s, c);
        if (!digits) return done;
        text[n] = 0;
        if (keep) {
            long value = kind == 'd' || kind == 'i' ? dh_model_strtol(text, 0, base) : (long)dh_model_strtoul(text, 0, base);
            dh_model_put(list, size, value);
            done++;
        }
    }
    return done;
}

int dh_model_vfscanf(FILE *f, const char *format, va_list list)
{
    off_t at;
    if (!dh_model_stands(f, &at) || !dh_model_scannable(format)) return vfscanf(f, format, list);
    struct dh_scan s = {f, 0, 0};
    va_list copy;
    va_copy(copy, list);
    int done = dh_model_scan(&s, format, &copy);
    va_end(copy);
    return done;
}

int dh_model_vsscanf(const char *text, const char *format, va_list list)
{
    if (!dh_sym_active() || !dh_model_scannable(format)) return vsscanf(text, format, list);
    struct dh_scan s = {0, text, 0};
    va_list copy;
    va_copy(copy, list);
    int done = dh_model_scan(&s, format, &copy);
    va_end(copy);
    return done;
}

#define SCAN(name, parameters, last, call)                                                                             \
    int dh_model_##name parameters                                                                                     \
    {                                                                                                                  \
        va_list list;                                                                                                  \
        va_start(list, last);                                                                                          \
        int done = call;                                                                                               \
        va_end(list);                                                                                                  \
        return done;                                                                                                   \
    }
SCAN(scanf, (const char *format, ...), format, dh_model_vfscanf(stdin, format, list))
SCAN(__isoc99_scanf, (const char *format, ...), format, dh_model_vfscanf(stdin, format, list))
SCAN(fscanf, (FILE * f, const char *format, ...), format, dh_model_vfscanf(f, format, list))
SCAN(__isoc99_fscanf, (FILE * f, const char *format, ...), format, dh_model_vfscanf(f, format, list))
SCAN(sscanf, (const char *text, const char *format, ...), format, dh_model_vsscanf(text, format, list))
SCAN(__isoc99_sscanf, (const char *text, const char *format, ...), format, dh_model_vsscanf(text, format, list))

// ---- searching and sorting

enum { FEW = 256 };

void dh_model_qsort(void *base, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    if (!dh_sym_active() || count > FEW) {
        if (dh_sym_active()) dh_sym_lost();
        qsort(base, count, size, compare);
        return;
    }
    // Stable, as glibc's merge sort is; few elements, so by insertion.
    char *p = base;
    for (size_t i = 1; i < count; i++)
        for (size_t j = i; j && compare(p + (j - 1) * size, p + j * size) > 0; j--)
            for (size_t k = 0; k < size; k++) {
                char t = p[(j - 1) * size + k];
                p[(j - 1) * size + k] = p[j * size + k];
                p[j * size + k] = t;
            }
}

void *dh_model_bsearch(const void *key, const void *base, size_t count, size_t size,
                       int (*compare)(const void *, const void *))
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const char *at = (const char *)base + middle * size;
        int order = compare(key, at);
        if (!order) return (void *)at;
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return 0;
}

// ---- threads: the argument and the result keep their expressions, through a block in memory

struct dh_thread {
    struct dh_thread *next;
    void *(*run)(void *);
    void *argument;
    void *result;
    pthread_t id;
    int ended;
};
static struct dh_thread *dh_threads;

static void *dh_model_run(void *block)
{
    struct dh_thread *t = block;
    t->result = t->run(t->argument);
    t->ended = 1;
    return t->result;
}

int dh_model_pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    struct dh_thread *t = dh_sym_active() ? calloc(1, sizeof *t) : 0;
    if (!t) return pthread_create(id, attributes, run, argument);
    t->run = run;
    t->argument = argument;
    int error = pthread_create(id, attributes, dh_model_run, t);
    if (error) {
        free(t);
        return error;
    }
    t->id = *id;
    t->next = dh_threads;
    dh_threads = t;
    return 0;
}

int dh_model_pthread_join(pthread_t id, void **result)
{
    void *value = 0;
    int error = pthread_join(id, &value);
    if (error) return error;
    if (result) *result = value;
    for (struct dh_thread **at = &dh_threads; *at; at = &(*at)->next) {
        struct dh_thread *t = *at;
        if (t->id != id) continue;
        // Not compared with what the library says: that would tie the result to its value of this run.
        if (result && t->ended) *result = t->result;
        *at = t->next;
        free(t);
        break;
    }
    return 0;
}
