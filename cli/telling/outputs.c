/* Files a run leaves behind: see outputs.h. */
#include "cli/telling/outputs.h"

#include "cli/options/run_options.h"
#include "traces/base/atomic_file.h"
#include "viz/paper/render.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RENDER_SECONDS = 60 };

bool output_write(const char *path, output_writer *write, void *context, struct failure *failure)
{
    struct whole_file output;
    return whole_file_begin(&output, path, failure) &&
           whole_file_finish(&output, write(context, output.file, failure), failure);
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
    struct whole_file output;
    if (!whole_file_begin(&output, path, failure))
        return false;
    return whole_file_finish(
        &output, viz_graph_write(output.file, trace, findings, options, failure), failure);
}

bool output_report(const char *path, const struct viz_report_run *runs, size_t count,
                   struct failure *failure)
{
    struct whole_file output;
    if (!whole_file_begin(&output, path, failure))
        return false;
    return whole_file_finish(&output, viz_report_write(output.file, runs, count, failure), failure);
}

static bool can_be_written(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + (slash == path)) : 1,
             slash ? path : ".");
    return !access(path, F_OK) ? !access(path, W_OK) : !access(folder, W_OK | X_OK);
}

bool outputs_can_be_written(const struct run_options *options)
{
    const char *const paths[] = {options->junit, options->html, options->sarif, options->dot,
                                 options->chrome};
    bool good = true;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (!paths[i] || !strcmp(paths[i], "-") || can_be_written(paths[i]))
            continue;
        fprintf(stderr, "simrun: cannot write %s: %s; nothing was run\n", paths[i],
                strerror(errno));
        good = false;
    }
    return good;
}
