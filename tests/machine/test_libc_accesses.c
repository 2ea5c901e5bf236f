/* Which bytes the functions of libc touch that instrumented programs call, byte for byte (watched.h). Against what C says of the functions, by
 * loops over their arguments; and they do what the real ones do. */
#include "tests/machine/watched.h"

#include <errno.h>
#include <strings.h>
#include <unistd.h>

enum { TO = 130 };

static bool really; /* the call is made by the real function */

/* ---- texts ---- */

static const char *const texts[] = {
    "",    "a",     "abc",    "abcabd", "aBcAbd and more",    "  -12x",
    "077", "0x1fg", "3.5e2z", "x9",     "9223372036854775807"};
enum { TEXTS = sizeof texts / sizeof *texts };

static char *put(size_t at, const char *text)
{
    memcpy(memory + at, text, strlen(text) + 1);
    return (char *)memory + at;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- the functions, each with one loop that says what it touches ---- */

#define TAKES(type, name, ...) type __wrap_##name(__VA_ARGS__);
#define CALL(name, ...)        (really ? name(__VA_ARGS__) : __wrap_##name(__VA_ARGS__))
#define TAKES_CHECKED(type, name, ...)                                                             \
    type __##name##_chk(__VA_ARGS__);                                                              \
    type __wrap___##name##_chk(__VA_ARGS__);
#define CALL_CHECKED(name, ...)                                                                    \
    (really ? __##name##_chk(__VA_ARGS__) : __wrap___##name##_chk(__VA_ARGS__))
/* clang-format off */
TAKES(size_t, strlen, const char *)
TAKES(size_t, strnlen, const char *, size_t)
TAKES(int, strcmp, const char *, const char *)
TAKES(int, strncmp, const char *, const char *, size_t)
TAKES(int, strcasecmp, const char *, const char *)
TAKES(int, strncasecmp, const char *, const char *, size_t)
TAKES(char *, strchr, const char *, int)
TAKES(char *, strrchr, const char *, int)
TAKES(char *, strstr, const char *, const char *)
TAKES(char *, strdup, const char *)
TAKES(char *, strcpy, char *, const char *)
TAKES(char *, stpcpy, char *, const char *)
TAKES(char *, strncpy, char *, const char *, size_t)
TAKES(char *, strcat, char *, const char *)
TAKES(char *, strncat, char *, const char *, size_t)
TAKES(double, strtod, const char *, char **)
TAKES(float, strtof, const char *, char **)
TAKES(long, strtol, const char *, char **, int)
TAKES(unsigned long, strtoul, const char *, char **, int)
TAKES(long long, strtoll, const char *, char **, int)
TAKES(unsigned long long, strtoull, const char *, char **, int)
TAKES(int, atoi, const char *)
TAKES(long, atol, const char *)
TAKES(double, atof, const char *)
TAKES(void *, memcpy, void *, const void *, size_t)
TAKES(void *, memmove, void *, const void *, size_t)
TAKES(void *, mempcpy, void *, const void *, size_t)
TAKES(void *, memset, void *, int, size_t)
TAKES(int, memcmp, const void *, const void *, size_t)
TAKES(int, bcmp, const void *, const void *, size_t)
TAKES(void *, memchr, const void *, int, size_t)
TAKES(void, qsort, void *, size_t, size_t, int (*)(const void *, const void *))
TAKES(size_t, fread, void *, size_t, size_t, FILE *)
TAKES(size_t, fwrite, const void *, size_t, size_t, FILE *)
TAKES(ssize_t, read, int, void *, size_t)
TAKES(ssize_t, write, int, const void *, size_t)
TAKES(char *, fgets, char *, int, FILE *)
TAKES(int, fputs, const char *, FILE *)
TAKES(int, sprintf, char *, const char *, ...)
TAKES(int, snprintf, char *, size_t, const char *, ...)
TAKES(int, fprintf, FILE *, const char *, ...)
TAKES_CHECKED(char *, strcpy, char *, const char *, size_t)
TAKES_CHECKED(char *, stpcpy, char *, const char *, size_t)
TAKES_CHECKED(char *, strncpy, char *, const char *, size_t, size_t)
TAKES_CHECKED(char *, strcat, char *, const char *, size_t)
TAKES_CHECKED(char *, strncat, char *, const char *, size_t, size_t)
TAKES_CHECKED(void *, memcpy, void *, const void *, size_t, size_t)
TAKES_CHECKED(void *, memmove, void *, const void *, size_t, size_t)
TAKES_CHECKED(void *, mempcpy, void *, const void *, size_t, size_t)
TAKES_CHECKED(void *, memset, void *, int, size_t, size_t)
TAKES_CHECKED(size_t, fread, void *, size_t, size_t, size_t, FILE *)
TAKES_CHECKED(ssize_t, read, int, void *, size_t, size_t)
TAKES_CHECKED(char *, fgets, char *, size_t, int, FILE *)
TAKES_CHECKED(int, fprintf, FILE *, int, const char *, ...)
TAKES_CHECKED(int, sprintf, char *, int, size_t, const char *, ...)
TAKES_CHECKED(int, snprintf, char *, size_t, int, size_t, const char *, ...)
/* clang-format on */

static FILE *file;
static int pipes[2];

static intptr_t place(const void *pointer)
{
    return pointer ? (const char *)pointer - (const char *)memory : -1;
}

static int by_byte(const void *a, const void *b)
{
    return *(const unsigned char *)a - *(const unsigned char *)b;
}

enum function {
    LENGTHS,
    COMPARISONS,
    CASELESS,
    SEARCHES,
    COPIES,
    CHECKED_COPIES,
    BOUNDED,
    CHECKED_BOUNDED,
    APPENDS,
    CHECKED_APPENDS,
    BASES,
    DECIMALS,
    BLOCKS,
    CHECKED_BLOCKS,
    LOOKS,
    SORTS,
    FILES,
    CHECKED_FILES,
    LINES,
    PRINTS,
    CHECKED_PRINTS,
    FUNCTIONS
};

/* Variant `v` of a group; the result is told as a number. Without `call` it says what is touched. */
static double copies(int v, bool call, bool checked)
{
    char *from = put(3, texts[v / 2 % TEXTS]), *to = (char *)memory + TO;
    size_t length = strlen(from);
    if (!call) {
        READ(3, length + 1);
        WRITE(TO, length + 1);
        return 0;
    }
    if (v % 2)
        return (double)place(checked ? CALL_CHECKED(stpcpy, to, from, 100)
                                     : CALL(stpcpy, to, from));
    return (double)place(checked ? CALL_CHECKED(strcpy, to, from, 100) : CALL(strcpy, to, from));
}

static double bounded(int v, bool call, bool checked)
{
    char *from = put(3, texts[v % TEXTS]), *to = (char *)memory + TO;
    size_t most = (size_t)(v / TEXTS) * 2;
    if (!call) {
        READ(3, least(strlen(from) + 1, most));
        WRITE(TO, most);
        return 0;
    }
    return (double)place(checked ? CALL_CHECKED(strncpy, to, from, most, 100)
                                 : CALL(strncpy, to, from, most));
}

static double appends(int v, bool call, bool checked)
{
    char *from = put(3, texts[v % TEXTS]), *to = put(TO, texts[v / 3 % TEXTS]);
    size_t before = strlen(to), length = strlen(from), most = (size_t)v % 7;
    if (!call) {
        READ(TO, before + 1);
        READ(3, v % 2 ? least(length + 1, most) : length + 1);
        WRITE(TO + before, (v % 2 ? least(length, most) : length) + 1);
        return 0;
    }
    if (v % 2)
        return (double)place(checked ? CALL_CHECKED(strncat, to, from, most, 100)
                                     : CALL(strncat, to, from, most));
    return (double)place(checked ? CALL_CHECKED(strcat, to, from, 100) : CALL(strcat, to, from));
}

static double blocks(int v, bool call, bool checked)
{
    size_t size = (size_t)v / 4, from = 10, to = v % 4 == 1 ? 10 + size / 2 : TO;
    if (!call) {
        if (v % 4 != 3)
            READ(from, size);
        WRITE(to, size);
        return 0;
    }
    switch (v % 4) {
    case 0:
        return (double)place(checked ? CALL_CHECKED(memcpy, memory + to, memory + from, size, 100)
                                     : CALL(memcpy, memory + to, memory + from, size));
    case 1:
        return (double)place(checked ? CALL_CHECKED(memmove, memory + to, memory + from, size, 100)
                                     : CALL(memmove, memory + to, memory + from, size));
    case 2:
        return (double)place(checked ? CALL_CHECKED(mempcpy, memory + to, memory + from, size, 100)
                                     : CALL(mempcpy, memory + to, memory + from, size));
    default:
        return (double)place(checked ? CALL_CHECKED(memset, memory + to, v, size, 100)
                                     : CALL(memset, memory + to, v, size));
    }
}

static double files(int v, bool call, bool checked)
{
    size_t size = 1 + (size_t)v / 4 % 3, count = (size_t)v / 12;
    if (!call) {
        if (v % 2)
            READ(20, size * count);
        else
            WRITE(20, size * count);
        return 0;
    }
    rewind(file);
    switch (v % 4) {
    case 0:
        return (double)(checked ? CALL_CHECKED(fread, memory + 20, 100, size, count, file)
                                : CALL(fread, memory + 20, size, count, file));
    case 1:
        return (double)CALL(fwrite, memory + 20, size, count, file);
    case 2:
        count = size * count;
        if (write(pipes[1], texts[10], count) != (ssize_t)count)
            return -2;
        return (double)(checked ? CALL_CHECKED(read, pipes[0], memory + 20, count, 100)
                                : CALL(read, pipes[0], memory + 20, count));
    default: {
        char drop[64];
        ssize_t written = CALL(write, pipes[1], memory + 20, size * count);
        return written > 0 && read(pipes[0], drop, (size_t)written) != written ? -2
                                                                               : (double)written;
    }
    }
}

/* %s reads its text; with a precision at most so many bytes of it. Numbers may have a precision as well; %m takes no argument. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static double prints(int v, bool call, bool checked)
{
    const char *format = put(3, v % 3 ? "%d %s %9f %s|" : "%2$s %1$d"),
               *one = put(40, texts[v % TEXTS]), *two = put(80, texts[v / 2 % TEXTS]);
    char *to = (char *)memory + TO;
    size_t room = (size_t)v % 2 ? (size_t)v : 100;
    if (v % 3 == 0)
        format = put(3, "%c%ld%lld %p %Lf %s %%");
    int most = v % 10 == 0 ? 3 : v / 10 % 8 - 1; /* negative: none */
    if (v % 5 == 0)
        format = put(3, v % 10 == 0 ? "%.3s %i" : "%m%-5.2f%-.*s %.3d|%*s");
    if (!call) {
        char text[120];
        errno = ENOENT;
        int length = v % 10 == 5  ? snprintf(text, sizeof text, format, 2.5, most, one, v, 7, two)
                     : v % 5 == 0 ? snprintf(text, sizeof text, "%.3s %i", one, v)
                     : v % 3 == 0 ? snprintf(text, sizeof text, "%c%ld%lld %p %Lf %s %%", v, 5L,
                                             6LL, (void *)memory, 0.5L, one)
                                  : snprintf(text, sizeof text, "%d %s %9f %s|", v, one, 2.5, two);
        READ(3, strlen(format) + 1);
        if (v % 5 == 0) {
            size_t end = strlen(one) + 1;
            READ(40, most < 0 || end < (size_t)most ? end : (size_t)most);
            if (v % 10 == 5)
                READ(80, strlen(two) + 1);
        } else {
            READ(40, strlen(one) + 1);
            if (v % 3)
                READ(80, strlen(two) + 1);
        }
        if (v % 4 < 2)
            WRITE(TO, v % 4 == 1 ? least((size_t)length + 1, room) : (size_t)length + 1);
        return 0;
    }
    rewind(file);
    errno = ENOENT;
#define PRINT_AS(...)                                                                              \
    (v % 4 == 0   ? (checked ? CALL_CHECKED(sprintf, to, 0, 120, format, __VA_ARGS__)              \
                             : CALL(sprintf, to, format, __VA_ARGS__))                             \
     : v % 4 == 1 ? (checked ? CALL_CHECKED(snprintf, to, room, 0, 120, format, __VA_ARGS__)       \
                             : CALL(snprintf, to, room, format, __VA_ARGS__))                      \
                  : (checked ? CALL_CHECKED(fprintf, file, 0, format, __VA_ARGS__)                 \
                             : CALL(fprintf, file, format, __VA_ARGS__)))
    if (v % 10 == 5)
        return PRINT_AS(2.5, most, one, v, 7, two);
    if (v % 5 == 0)
        return PRINT_AS(one, v);
    if (v % 3 == 0)
        return PRINT_AS(v, 5L, 6LL, (void *)memory, 0.5L, one);
    return PRINT_AS(v, one, 2.5, two);
}
#pragma GCC diagnostic pop

/* Where a conversion ends, and the first byte that is none of it. */
static double numbers(int v, bool call, bool bases)
{
    static const int all[] = {10, 0, 16, 8};
    char *text = put(3, texts[v % TEXTS]), *end = NULL, *real;
    int base = all[v / TEXTS % 4], what = v / TEXTS / 4;
    double result;
    if (!call) {
        if (bases)
            strtol(text, &real, base);
        else if (what > 1 && what < 4)
            strtol(text, &real, 10);
        else
            strtod(text, &real);
        READ(3, (size_t)(real - text) + 1);
        return 0;
    }
    switch (bases ? what : what + 10) {
    case 0:
        result = (double)CALL(strtol, text, &end, base);
        break;
    case 1:
        result = (double)CALL(strtoul, text, &end, base);
        break;
    case 2:
        result = (double)CALL(strtoll, text, &end, base);
        break;
    case 3:
        result = (double)CALL(strtoull, text, &end, base);
        break;
    case 4:
        result = (double)CALL(strtol, text, NULL, base);
        break;
    case 10:
        result = CALL(strtod, text, &end);
        break;
    case 11:
        result = (double)CALL(strtof, text, v % 4 ? &end : NULL);
        break;
    case 12:
        result = CALL(atoi, text);
        break;
    case 13:
        result = (double)CALL(atol, text);
        break;
    default:
        result = CALL(atof, text);
    }
    return result + (end ? (double)(end - text) * 1000003 : 0);
}

static double comparisons(int v, bool call)
{
    char *a = put(3, texts[v % TEXTS]), *b = put(TO, texts[v / TEXTS % TEXTS]);
    size_t most = (size_t)v % 5, alike = 0;
    if (!call) {
        while (a[alike] && a[alike] == b[alike])
            alike++;
        size_t bytes = v / TEXTS / TEXTS ? least(alike + 1, most) : alike + 1;
        READ(3, bytes);
        READ(TO, bytes);
        return 0;
    }
    int order = v / TEXTS / TEXTS ? CALL(strncmp, a, b, most) : CALL(strcmp, a, b);
    return (order > 0) - (order < 0);
}

/* All that may be looked at, and the first byte must. */
static double caseless(int v, bool call)
{
    char *a = put(3, texts[v % TEXTS]), *b = put(TO, texts[v / TEXTS % TEXTS]);
    size_t most = (size_t)v % 5;
    bool bound = v / TEXTS / TEXTS;
    if (!call) {
        size_t bytes = bound ? most : ROOM;
        span(expected.read, 3, least(strlen(a) + 1, bytes), MAY);
        span(expected.read, TO, least(strlen(b) + 1, bytes), MAY);
        READ(3, least(bytes, 1));
        READ(TO, least(bytes, 1));
        return 0;
    }
    int order = bound ? CALL(strncasecmp, a, b, most) : CALL(strcasecmp, a, b);
    return (order > 0) - (order < 0);
}

static double searches(int v, bool call)
{
    static const char *const wanted[] = {"b", "", "bd", "d and", "nowhere", "c"};
    const char *what = wanted[v / TEXTS % 6];
    char *text = put(3, texts[v % TEXTS]), *second = put(TO, what), *found;
    size_t length = strlen(text), at = 0, n = strlen(what);
    int how = v / TEXTS / 6;
    if (!call) {
        if (how == 0)
            while (at < length && text[at] != *what) /* the end, too, may be wanted */
                at++;
        if (how == 2)
            while (at < length && strncmp(text + at, what, n) != 0)
                at++;
        bool there = how == 2 && (at < length || !n);
        READ(3, there ? at + n : how == 0 ? at + 1 : length + 1);
        if (how == 2)
            READ(TO, n + 1);
        return 0;
    }
    switch (how) {
    case 0:
        return (double)place(CALL(strchr, text, *what));
    case 1:
        return (double)place(CALL(strrchr, text, *what));
    case 2:
        return (double)place(CALL(strstr, text, second));
    default:
        found = CALL(strdup, text);
        at = found ? strlen(found) : 99;
        free(found);
        return (double)at;
    }
}

static double lengths(int v, bool call)
{
    char *text = put(3, texts[v % TEXTS]);
    size_t most = (size_t)v / TEXTS, length = strlen(text);
    if (!call) {
        READ(3, most ? least(length + 1, most - 1) : length + 1);
        return 0;
    }
    return (double)(most ? CALL(strnlen, text, most - 1) : CALL(strlen, text));
}

static double looks(int v, bool call)
{
    size_t size = (size_t)v / 3, at = 0;
    if (!call) {
        while (v % 3 == 2 && at < size && memory[20 + at] != 7)
            at++;
        READ(20, v % 3 == 2 ? least(at + 1, size) : size);
        if (v % 3 < 2)
            READ(TO, size);
        return 0;
    }
    if (v % 3 == 2)
        return (double)place(CALL(memchr, memory + 20, 7, size));
    int order = v % 3 ? CALL(memcmp, memory + 20, memory + TO, size)
                      : CALL(bcmp, memory + 20, memory + TO, size) != 0;
    return (order > 0) - (order < 0);
}

static double sorts(int v, bool call)
{
    size_t size = 1 + (size_t)v % 3, count = (size_t)v / 3;
    if (!call)
        WRITE(20, size * count);
    else
        CALL(qsort, memory + 20, count, size, by_byte);
    return 0;
}

static double lines(int v, bool call)
{
    char *text = put(3, texts[v / 3 % TEXTS]), *to = (char *)memory + TO;
    size_t length = strlen(text), room = 2 + (size_t)v % 4;
    if (!call) {
        if (v % 3 == 0)
            READ(3, length + 1);
        else if (length)
            WRITE(TO, least(length + 1, room));
        return 0;
    }
    FILE *kept = tmpfile();
    intptr_t result = -2;
    if (kept && v % 3 == 0) {
        result = CALL(fputs, text, kept) >= 0 ? ftell(kept) : -2;
    } else if (kept) {
        fwrite(text, 1, length, kept);
        rewind(kept);
        result = place(v % 3 == 1 ? CALL(fgets, to, (int)room, kept)
                                  : CALL_CHECKED(fgets, to, 100, (int)room, kept));
    }
    if (kept)
        fclose(kept);
    return (double)result;
}

static const struct {
    const char *name;
    int variants;
} groups[FUNCTIONS] = {
    [LENGTHS] = {"a length", TEXTS * 6},
    [COMPARISONS] = {"a comparison", TEXTS *TEXTS * 2},
    [CASELESS] = {"a comparison without case", TEXTS *TEXTS * 2},
    [SEARCHES] = {"a search", TEXTS * 6 * 4},
    [COPIES] = {"a copy of text", TEXTS * 2},
    [CHECKED_COPIES] = {"a checked copy of text", TEXTS * 2},
    [BOUNDED] = {"a bounded copy", TEXTS * 5},
    [CHECKED_BOUNDED] = {"a checked bounded copy", TEXTS * 5},
    [APPENDS] = {"an appended text", TEXTS * 6},
    [CHECKED_APPENDS] = {"a checked appended text", TEXTS * 6},
    [BASES] = {"a whole number", TEXTS * 4 * 5},
    [DECIMALS] = {"a number", TEXTS * 4 * 5},
    [BLOCKS] = {"a block", 4 * 12},
    [CHECKED_BLOCKS] = {"a checked block", 4 * 12},
    [LOOKS] = {"a look at memory", 3 * 12},
    [SORTS] = {"a sort", 3 * 6},
    [FILES] = {"a file", 4 * 3 * 6},
    [CHECKED_FILES] = {"a checked file", 4 * 3 * 6},
    [LINES] = {"a line", 3 * TEXTS * 4},
    [PRINTS] = {"a print", 60},
    [CHECKED_PRINTS] = {"a checked print", 60},
};

static double run(int group, int v, bool call)
{
    switch (group) {
    case LENGTHS:
        return lengths(v, call);
    case COMPARISONS:
        return comparisons(v, call);
    case CASELESS:
        return caseless(v, call);
    case SEARCHES:
        return searches(v, call);
    case COPIES:
    case CHECKED_COPIES:
        return copies(v, call, group == CHECKED_COPIES);
    case BOUNDED:
    case CHECKED_BOUNDED:
        return bounded(v, call, group == CHECKED_BOUNDED);
    case APPENDS:
    case CHECKED_APPENDS:
        return appends(v, call, group == CHECKED_APPENDS);
    case BASES:
    case DECIMALS:
        return numbers(v, call, group == BASES);
    case BLOCKS:
    case CHECKED_BLOCKS:
        return blocks(v, call, group == CHECKED_BLOCKS);
    case LOOKS:
        return looks(v, call);
    case SORTS:
        return sorts(v, call);
    case FILES:
    case CHECKED_FILES:
        return files(v, call, group == CHECKED_FILES);
    case LINES:
        return lines(v, call);
    default:
        return prints(v, call, group == CHECKED_PRINTS);
    }
}

static void fill(void)
{
    for (size_t i = 0; i < ROOM; i++)
        memory[i] = (unsigned char)(i * 7 % 13);
}

static void one_case(int group, int v)
{
    static unsigned char by_real[ROOM];
    fill();
    memset(&expected, 0, sizeof expected);
    run(group, v, false);
    really = true;
    fill();
    double real = run(group, v, true), own = 0;
    memcpy(by_real, memory, ROOM);
    really = false;
    for (int written = 0; written < 2; written++) {
        fill();
        watch(written);
        own = run(group, v, true);
        compare(groups[group].name, v, written);
    }
    if ((own < real || own > real || memcmp(memory, by_real, ROOM) != 0) && !*wrong)
        snprintf(wrong, sizeof wrong, "%s, variant %d: gives %g, not %g, or leaves other bytes",
                 groups[group].name, v, own, real);
    cases++;
}

static void functions(void)
{
    for (int group = 0; group < FUNCTIONS; group++)
        for (int v = 0; v < groups[group].variants; v++)
            one_case(group, v);
}

int main(void)
{
    file = tmpfile();
    if (!file || pipe(pipes))
        return 1;
    watched_test(functions,
                 "functions of libc touch the bytes that C says, and do what they stand for");
    fclose(file);
    return tap_done();
}
