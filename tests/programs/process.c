/* Does what libc keeps state of, a step at a time, letting others run in between, and writes down
 * what it saw into the file named by its first argument. tests/sim/test_libc.c compares that with
 * what a process of its own sees.
 *
 *   process FILE WAY SEED [words for getopt ...]
 *
 * WAY is how it ends: return, exit, nested, immediate, quick, abort, assert, thread. */
#include <assert.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char seen[16384];
static size_t used;
static const char *file_name;
#ifndef THREAD_LOCAL
#define THREAD_LOCAL _Thread_local
#endif
static THREAD_LOCAL int own = 40;

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    used += (size_t)vsnprintf(seen + used, sizeof seen - used, format, arguments);
    va_end(arguments);
    struct timespec none = {0, 0};
    if (used % 32 == 0)
        usleep(0);
    else if (used % 32 == 1)
        nanosleep(&none, NULL);
    else
        sched_yield();
}

static void save(void)
{
    int file = open(file_name, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (write(file, seen, used) != (ssize_t)used)
        _exit(99);
    close(file);
    used = 0;
}

static void handler_early(void)
{
    note("early handler\n");
}

__attribute__((constructor)) static void construct(void)
{
    atexit(handler_early);
}

__attribute__((destructor)) static void destruct(void)
{
    note("destructor\n");
    save();
}

static void handler_first(void)
{
    note("first handler\n");
}

static void handler_second(void)
{
    note("second handler\n");
}

static void handler_status(int status, void *argument)
{
    note("handler of status %d and %s\n", status, (const char *)argument);
}

static void handler_nested(void)
{
    note("exit in a handler\n");
    exit(8);
}

static void handler_quick(void)
{
    note("quick handler\n");
    save();
}

static void random_numbers(unsigned seed)
{
    for (int i = 0; i < 5; i++)
        note("%d %ld ", rand(), random());
    srand(seed);
    for (int i = 0; i < 40; i++)
        note("%d ", rand());
    char table[64], *before = initstate(seed, table, sizeof table);
    note("%ld ", random());
    setstate(before);
    note("%ld\n", random());
    note("%.17g %ld %ld ", drand48(), lrand48(), mrand48());
    srand48(seed);
    unsigned short numbers[7] = {1, 2, 3, 4, 5, 6, 7};
    note("%.17g %ld ", drand48(), mrand48());
    note("%.17g %ld %ld ", erand48(numbers), nrand48(numbers), jrand48(numbers));
    note("%d ", seed48(numbers)[1]);
    lcong48(numbers);
    note("%ld\n", lrand48());
}

static void tokens(unsigned seed)
{
    char text[64];
    snprintf(text, sizeof text, "a%u,b%u;;c%u", seed, seed, seed);
    for (char *token = strtok(text, ",;"); token; token = strtok(NULL, ",;"))
        note("[%s]", token);
    note("\n");
}

static void options(int count, char **words)
{
    static const struct option longs[] = {{"alpha", no_argument, NULL, 1000},
                                          {"alphabet", required_argument, NULL, 1001},
                                          {"beta", optional_argument, NULL, 1002},
                                          {NULL, 0, NULL, 0}};
    static const char *const forms[] = {"ab:c::", "+ab:c::", "-ab:c::", ":ab:c::"};
    for (int form = 0; form < 12; form++) {
        char *copy[32];
        int found, index = -1;
        memcpy(copy, words, (size_t)(count + 1) * sizeof *copy);
        note("%d:", optind);
        optind = form ? 0 : 1;
        opterr = 0;
        do {
            if (form < 4)
                found = getopt(count, copy, forms[form]);
            else if (form < 8)
                found = getopt_long(count, copy, forms[form % 4], longs, &index);
            else
                found = getopt_long_only(count, copy, forms[form % 4], longs, &index);
            note(" %d/%d/%d/%d/%s", found, optind, found == '?' || found == ':' ? optopt : 0, index,
                 optarg ? optarg : "-");
        } while (found != -1);
        for (int i = 1; i < count; i++)
            note(" %s", copy[i]);
        note("\n");
    }
}

static void *thread_body(void *argument)
{
    int *out = argument;
    *out = own++;
    *out += own;
    return &own;
}

static void threads(void)
{
    pthread_t thread;
    int out[2];
    void *where[2];
    own = 7;
    for (int i = 0; i < 2; i++) {
        pthread_create(&thread, NULL, thread_body, &out[i]);
        pthread_join(thread, &where[i]);
    }
    note("threads saw %d and %d, mine is %d, %s\n", out[0], out[1], own,
         where[0] == &own || where[1] == &own ? "shared" : "separate");
}

int main(int argc, char **argv)
{
    const char *way = argv[2];
    file_name = argv[1];
    unsigned seed = (unsigned)atoi(argv[3]);
    random_numbers(seed);
    tokens(seed);
    static char name[] = "process";
    argv[3] = name;
    options(argc - 3, argv + 3);
    threads();
    atexit(handler_first);
    on_exit(handler_status, name);
    atexit(handler_second);
    at_quick_exit(handler_quick);
    if (!strcmp(way, "exit"))
        exit(300);
    if (!strcmp(way, "nested"))
        atexit(handler_nested);
    if (!strcmp(way, "thread"))
        pthread_exit(NULL);
    if (!strcmp(way, "quick"))
        quick_exit(5);
    if (!strcmp(way, "return") || !strcmp(way, "nested"))
        return 3;
    save();
    if (!strcmp(way, "immediate"))
        _exit(4);
    if (!strcmp(way, "assert"))
        assert(!"reached");
    abort();
}
