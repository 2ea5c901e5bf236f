/* simrun export and import on files: from one format to another. */
#include "cli/command.h"
#include "cli/outputs.h"
#include "traces/format.h"

#include <stdio.h>
#include <string.h>

struct convert {
    const char *format, *output;
    const char *database;
};

static bool set_format(void *target, const char *value)
{
    ((struct convert *)target)->format = value;
    return true;
}

static bool set_output(void *target, const char *value)
{
    ((struct convert *)target)->output = value;
    return true;
}

const struct option_row export_option_rows[] = {
    {"format", 'f', "NAME", "jsonl (default), chrome, csv, ... (see below)", set_format},
    {"output", 'o', "FILE", "where to write (default: standard output)", set_output},
    {NULL, 0, NULL, NULL, NULL},
};

/* Complains about a format that is unknown or cannot be used this way. */
static bool usable(const char *command, const char *name, bool writing)
{
    const struct format *format = format_by_name(name);
    if (format && (writing ? format->writes : format->reads))
        return true;
    fprintf(stderr, "simrun %s: format '%s' %s; there are:", command, name,
            !format   ? "does not exist"
            : writing ? "can only be read"
                      : "can only be written");
    for (size_t i = 0; (format = format_at(i)); i++)
        if (writing ? format->writes : format->reads)
            fprintf(stderr, " %s", format->name);
    fputc('\n', stderr);
    return false;
}

struct writing {
    const struct trace *trace;
    const struct findings *findings;
    const char *format;
};

static bool write_trace(void *context, FILE *out, struct failure *failure)
{
    const struct writing *writing = context;
    return format_write(writing->trace, writing->findings, writing->format, out, failure);
}

int command_export(int argc, char **argv)
{
    struct convert convert = {.format = "jsonl", .output = "-"};
    struct command_words words = {.least = 1, .most = 1};
    struct failure failure = {0};
    int status = command_parse("export", &convert, argc, argv, &words);
    if (status >= 0)
        return status;
    if (!usable("export", convert.format, true))
        return EXIT_USAGE;
    struct trace *trace = format_read(words.words[0], &failure);
    if (!trace)
        return command_fail("export", &failure);
    struct writing writing = {trace, NULL, convert.format};
    bool good = output_write(convert.output, write_trace, &writing, &failure);
    trace_free(trace);
    return good ? EXIT_PASSED : command_fail("export", &failure);
}
