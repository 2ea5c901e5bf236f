/* What the fuzz targets share. A target reads bytes as one format; what is read must be a valid
 * trace that survives its own format: written as JSONL and read again it has the same hash. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include "traces/formats/format.h"
#include "traces/input/input.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    abort();
}

/* Anything a reader accepts can be written wherever the format can say it; only JSONL must be able
 * to say all. */
static inline void fuzz_write(const struct trace *trace)
{
    static const char *const others[] = {"csv", "ti", "chrome"};
    struct failure failure = {0};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        FILE *out = fopen("/dev/null", "w");
        if (!format_write(trace, NULL, others[i], out, &failure) && failure.code != FAILURE_INPUT)
            fuzz_fail(others[i], failure.text);
        fclose(out);
    }
}

static inline void fuzz_round_trip(const struct trace *trace)
{
    struct failure failure = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bool written = format_write(trace, NULL, "jsonl", out, &failure);
    fclose(out);
    if (!written && !strstr(failure.text, "does not rise"))
        fuzz_fail("not written", failure.text);
    struct trace *again = written ? format_read_memory("again", text, size, &failure) : NULL;
    if (written && !again)
        fuzz_fail("not read again", failure.text);
    if (again && trace_hash(again) != trace_hash(trace))
        fuzz_fail("another trace", text);
    trace_free(again);
    free(text);
}

static inline int fuzz_read(const uint8_t *data, size_t size,
                            struct trace *(*read)(struct format_input *input))
{
    struct failure failure = {0};
    struct format_input input;
    struct trace *trace =
        format_input_copy(&input, "fuzz_0", data, size, &failure) ? read(&input) : NULL;
    format_input_release(&input);
    if (!trace && (failure.code != FAILURE_INPUT || !failure.text[0]))
        fuzz_fail("refused without a reason", failure.text);
    if (trace) {
        fuzz_round_trip(trace);
        fuzz_write(trace);
    }
    trace_free(trace);
    return 0;
}

#endif
