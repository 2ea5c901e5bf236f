/* Files a run leaves behind: see outputs.h. */
#include "cli/outputs.h"

#include "viz/render.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RENDER_SECONDS = 60 };

/* A file under its temporary name; finish renames it. */
struct output {
    FILE *file;
    char temporary[600];
    const char *path;
};

static bool output_begin(struct output *output, const char *path, struct failure *failure)
{
    output->path = path;
    if (!strcmp(path, "-")) {
        output->file = stdout;
        return true;
    }
    snprintf(output->temporary, sizeof output->temporary, "%s.tmp%ld", path, (long)getpid());
    output->file = fopen(output->temporary, "we");
    if (!output->file)
        failure_set(failure, FAILURE_INTERNAL, "cannot write %s: %s", path, strerror(errno));
    return output->file != NULL;
}

static bool output_finish(struct output *output, bool good, struct failure *failure)
{
    if (output->file == stdout) {
        if (good && (fflush(stdout) || ferror(stdout)))
            good = failure_set(failure, FAILURE_INTERNAL, "cannot write to standard output") == 0;
        return good;
    }
    bool written = !ferror(output->file);
    written = !fclose(output->file) && written;
    if (good && written && !rename(output->temporary, output->path))
        return true;
    if (good)
        failure_set(failure, FAILURE_INTERNAL, "cannot write %s: %s", output->path,
                    strerror(errno));
    unlink(output->temporary);
    return false;
}

bool output_write(const char *path, output_writer *write, void *context, struct failure *failure)
{
    struct output output;
    return output_begin(&output, path, failure) &&
           output_finish(&output, write(context, output.file, failure), failure);
}

static const char *ending(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot ? dot + 1 : "";
}

static bool render(const char *path, const char *format, const struct trace *trace,
                   const struct findings *findings, const struct viz_options *options,
                   struct failure *failure)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    bool good = memory && viz_graph_write(memory, trace, findings, options, failure);
    if (memory)
        fclose(memory);
    else
        failure_set(failure, FAILURE_INTERNAL, "out of memory");
    good = good && viz_render(text, size, format, path, RENDER_SECONDS, failure);
    free(text);
    return good;
}

bool output_graph(const char *path, const struct trace *trace, const struct findings *findings,
                  const struct viz_options *options, struct failure *failure)
{
    const char *format = ending(path);
    if (!strcmp(format, "svg") || !strcmp(format, "png"))
        return render(path, format, trace, findings, options, failure);
    if (strcmp(path, "-") && strcmp(format, "dot") && strcmp(format, "gv")) {
        failure_set(failure, FAILURE_USAGE, "%s: a picture's name ends in .dot, .gv, .svg or .png",
                    path);
        return false;
    }
    struct output output;
    if (!output_begin(&output, path, failure))
        return false;
    return output_finish(&output, viz_graph_write(output.file, trace, findings, options, failure),
                         failure);
}

bool output_report(const char *path, const struct viz_report_run *runs, size_t count,
                   struct failure *failure)
{
    struct output output;
    if (!output_begin(&output, path, failure))
        return false;
    return output_finish(&output, viz_report_write(output.file, runs, count, failure), failure);
}
