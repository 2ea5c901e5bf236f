/* What pictures of large runs cost: 10,000 nodes laid out and written, then rendered by Graphviz
 * where it is installed; a million operations summarised as picture and as report. Part of
 * `make bench`. */
#include "tests/viz/viz_samples.h"
#include "viz/lanes/graph.h"
#include "viz/report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double megabytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

/* Writes the picture to `path`; the processor time it took. */
static double draw(const struct trace *trace, bool all, const char *path, long *size)
{
    struct viz_options options = viz_options_default();
    struct failure failure = {0};
    options.all = all;
    FILE *file = fopen(path, "w");
    double start = seconds();
    if (!file || !viz_graph_write(file, trace, NULL, &options, &failure))
        printf("picture: %s\n", failure.text);
    double taken = seconds() - start;
    *size = file ? ftell(file) : 0;
    if (file)
        fclose(file);
    return taken;
}

static double children_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

int main(void)
{
    char path[64], command[200];
    long size;
    snprintf(path, sizeof path, "/tmp/simrun-bench-%ld.dot", (long)getpid());
    struct trace *trace = sample_long(16, 10000);
    double taken = draw(trace, true, path, &size);
    printf("picture    %10.3f s for %zu nodes on 16 ranks, laid out and written (%ld KiB)\n", taken,
           trace->node_count, size / 1024);
    snprintf(command, sizeof command, "neato -n2 -Tsvg -o /dev/null %s 2>/dev/null", path);
    if (system(command) == 0)
        printf("graphviz   %10.3f s to render it\n", children_seconds());
    trace_free(trace);
    trace = sample_stencil(64, 3150);
    double before = megabytes();
    taken = draw(trace, false, path, &size);
    printf("summary    %10.3f s for %zu operations (%ld KiB; memory %.0f MiB, of which "
           "%.0f MiB the trace)\n",
           taken, trace->op_count, size / 1024, megabytes(), before);
    struct viz_run_info info = {.scenario = "bench", .verdict = "PASS", .ranks = 64};
    struct viz_report_run run = {&info, trace, NULL};
    struct failure failure = {0};
    FILE *file = fopen(path, "w");
    double start = seconds();
    if (!file || !viz_report_write(file, &run, 1, &failure))
        printf("report: %s\n", failure.text);
    taken = seconds() - start;
    printf("report     %10.3f s for the same (%ld KiB; memory %.0f MiB)\n", taken,
           file ? ftell(file) / 1024 : 0, megabytes());
    if (file)
        fclose(file);
    unlink(path);
    trace_free(trace);
    return 0;
}
