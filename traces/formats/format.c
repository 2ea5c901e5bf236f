/* The table of formats and how one is recognised: see format.h. */
#include "traces/formats/format.h"

#include "traces/input/input.h"
#include "traces/input/write.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct trace *read_ti(struct format_input *input)
{
    return format_ti_read(input, 1);
}

static struct trace *read_flight(struct format_input *input)
{
    return format_flight_read(input, 1);
}

static const struct {
    struct format format;
    struct trace *(*read)(struct format_input *input);
    bool (*write)(const struct trace *trace, const struct findings *findings, FILE *out,
                  struct failure *failure);
} formats[] = {
    {{"jsonl", true, true, "one operation per line with its dependencies; exact"},
     format_jsonl_read,
     format_jsonl_write},
    {{"csv", true, true, "pipeline schedules of PyTorch: rows are ranks, cells are actions"},
     format_csv_read,
     format_csv_write},
    {{"ti", true, true, "time-independent traces, which SMPI replays"}, read_ti, format_ti_write},
    {{"flight-recorder", true, false,
      "PyTorch Flight Recorder dumps, JSON or pickled, a file or a folder"},
     read_flight,
     NULL},
    {{"chrome", false, true, "timeline for Perfetto and chrome://tracing"},
     NULL,
     format_chrome_write},
};

const struct format *format_at(size_t index)
{
    return index < sizeof formats / sizeof *formats ? &formats[index].format : NULL;
}

const struct format *format_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].format.name, name) == 0)
            return &formats[i].format;
    return NULL;
}

enum found { FOUND_JSONL, FOUND_CSV, FOUND_TI, FOUND_FLIGHT, FOUND_NONE };

/* RANK ACTION: a number, blanks, a letter. */
static bool is_ti(const unsigned char *data)
{
    while (isdigit(*data))
        data++;
    if (*data != ' ' && *data != '\t')
        return false;
    while (*data == ' ' || *data == '\t')
        data++;
    return isalpha(*data);
}

/* By the first bytes that are not blank. */
static enum found recognise(const struct format_input *input)
{
    const unsigned char *data = input->data;
    size_t at = format_text_begin(input);
    while (isspace(data[at]))
        at++;
    if (data[0] == 0x80)
        return FOUND_FLIGHT; /* a pickle */
    if (data[at] == '{') {
        for (at++; isspace(data[at]);)
            at++;
        return strncmp((const char *)data + at, "\"simrun\"", 8) == 0 ? FOUND_JSONL : FOUND_FLIGHT;
    }
    if (data[at] == '#' || (isdigit(data[at]) && is_ti(data + at)))
        return FOUND_TI;
    if (isdigit(data[at]) || data[at] == '(' || data[at] == ',' || data[at] == '"')
        return FOUND_CSV;
    return FOUND_NONE;
}

/* Several inputs are one per rank: all of one format. */
static struct trace *read_inputs(struct format_input *inputs, size_t count)
{
    enum found found = recognise(&inputs[0]);
    for (size_t i = 1; i < count; i++)
        if (recognise(&inputs[i]) != found || (found != FOUND_TI && found != FOUND_FLIGHT)) {
            format_refuse(&inputs[i], 0,
                          "a folder holds dumps or time-independent traces, all of one format");
            return NULL;
        }
    switch (found) {
    case FOUND_JSONL:
        return format_jsonl_read(inputs);
    case FOUND_CSV:
        return format_csv_read(inputs);
    case FOUND_TI:
        return format_ti_read(inputs, count);
    case FOUND_FLIGHT:
        return format_flight_read(inputs, count);
    case FOUND_NONE:
        break;
    }
    format_refuse(inputs, 0,
                  inputs->size ? "no format that is known begins like this" : "an empty file");
    return NULL;
}

struct trace *format_read_memory(const char *name, const void *data, size_t size,
                                 struct failure *failure)
{
    struct format_input input;
    struct trace *trace =
        format_input_copy(&input, name, data, size, failure) ? read_inputs(&input, 1) : NULL;
    format_input_release(&input);
    return trace;
}

struct trace *format_read(const char *path, struct failure *failure)
{
    return format_read_slowly(path, NULL, failure);
}

struct trace *format_read_slowly(const char *path, struct progress *progress,
                                 struct failure *failure)
{
    struct stat status;
    struct format_input *inputs = NULL;
    size_t count = 0;
    bool folder = strcmp(path, "-") != 0 && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    bool done = folder ? format_folder_open(path, &inputs, &count, failure)
                       : format_folder_one(path, &inputs, &count, failure);
    for (size_t i = 0; i < count; i++)
        inputs[i].progress = progress;
    struct trace *trace = done ? read_inputs(inputs, count) : NULL;
    format_folder_release(inputs, count);
    return trace;
}

bool format_write(const struct trace *trace, const struct findings *findings,
                  const char *format_name, FILE *out, struct failure *failure)
{
    size_t i = 0, count = sizeof formats / sizeof *formats;
    while (i < count && strcmp(formats[i].format.name, format_name) != 0)
        i++;
    if (i == count || !formats[i].write) {
        failure_set(failure, FAILURE_USAGE,
                    i == count ? "no format \"%s\"" : "format \"%s\" is only read", format_name);
        return false;
    }
    if (!formats[i].write(trace, findings, out, failure))
        return false;
    errno = 0;
    if (fflush(out) == 0 && !ferror(out))
        return true;
    failure_set(failure, FAILURE_INTERNAL, "writing %s: %s", format_name,
                errno ? strerror(errno) : "output error");
    return false;
}
