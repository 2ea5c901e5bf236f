/* Every reader and writer of files when memory runs out: of each seed of the fuzzer every allocation fails once, until the reader passes untouched.
 * It says so and keeps nothing, or its trace, or text, is the usual one. */
#include "tests/formats/format_samples.h"
#include "tests/traces/failing_memory.h"

#include <glob.h>

#if SANITIZED

int main(void)
{
    return failing_memory_skip();
}

#else

enum { TEXT_MAX = 1 << 16 };

struct tally {
    long rounds, writes, half, blamed, kept;
};

/* One round: whether an allocation failed. */
static bool round_of(const char *path, const char *text, size_t size, long n,
                     const struct trace *whole, struct tally *tally)
{
    struct failure failure = {0};
    long before = held;
    failed = 0;
    countdown = n;
    struct trace *trace = format_read_memory(path, text, size, &failure);
    countdown = 0;
    bool half = trace && (!whole || sample_difference(trace, whole));
    trace_free(trace);
    tally->rounds += failed > 0;
    tally->half += half;
    tally->blamed += !trace && (failed ? failure.code != FAILURE_INTERNAL : whole != NULL);
    tally->kept += held != before;
    if (half || held != before || (!trace && failed && failure.code != FAILURE_INTERNAL))
        tap_note("%s, allocation %ld: half %d, %ld kept, code %d: %s", path, n, half, held - before,
                 failure.code, failure.text);
    return failed > 0;
}

/* The bytes written, 0 for a refusal. */
static size_t written(const struct trace *trace, const char *format, char *text, long n,
                      struct failure *failure)
{
    static char buffer[BUFSIZ];
    FILE *out = fmemopen(text, TEXT_MAX, "wb");
    setvbuf(out, buffer, _IOFBF, sizeof buffer);
    failed = 0;
    countdown = n;
    bool done = format_write(trace, NULL, format, out, failure);
    countdown = 0;
    long size = ftell(out);
    fclose(out);
    return done && size > 0 ? (size_t)size : 0;
}

static void test_written(const struct trace *trace, const char *format, struct tally *tally)
{
    static char whole[TEXT_MAX], text[TEXT_MAX];
    struct failure failure = {0};
    size_t size = written(trace, format, whole, 0, &failure);
    for (long n = 1; size && (n == 1 || failed); n++) {
        long before = held;
        size_t came = written(trace, format, text, n, &failure);
        bool half = came && (came != size || memcmp(text, whole, size) != 0);
        tally->writes += failed > 0;
        tally->half += half;
        tally->blamed += !came && failure.code != FAILURE_INTERNAL;
        tally->kept += held != before;
        if (half || held != before || (!came && failure.code != FAILURE_INTERNAL))
            tap_note("%s, allocation %ld: half %d, %ld kept, code %d: %s", format, n, half,
                     held - before, failure.code, failure.text);
    }
}

static void test_file(const char *path, struct tally *tally)
{
    static char text[TEXT_MAX];
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(text, 1, sizeof text, file) : 0;
    struct failure failure = {0};
    if (file)
        fclose(file);
    struct trace *whole = format_read_memory(path, text, size, &failure);
    for (long n = 1; round_of(path, text, size, n, whole, tally); n++)
        ;
    for (size_t i = 0; whole && format_at(i); i++)
        if (format_at(i)->writes)
            test_written(whole, format_at(i)->name, tally);
    trace_free(whole);
}

int main(void)
{
    struct tally tally = {0};
    glob_t files;
    if (glob("tests/fuzz/corpus/*/*", 0, NULL, &files) != 0)
        tap_ok(false, "the fuzzer's seeds are there");
    for (size_t i = 0; i < files.gl_pathc; i++)
        test_file(files.gl_pathv[i], &tally);
    tap_ok(tally.rounds > 100 && files.gl_pathc > 10,
           "memory runs out %ld times while %zu files are read", tally.rounds, files.gl_pathc);
    tap_ok(tally.writes > 20, "and %ld times while they are written", tally.writes);
    tap_is_int(tally.half, 0, "no trace is passed as whole that is not");
    tap_is_int(tally.blamed, 0, "it is never called the file's fault");
    tap_is_int(tally.kept, 0, "and nothing is kept");
    globfree(&files);
    return tap_done();
}

#endif
