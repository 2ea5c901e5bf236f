/* simrun graph and report: pictures and pages of stored runs. */
#include "cli/command.h"
#include "cli/options/show_options.h"
#include "cli/telling/outputs.h"
#include "cli/telling/run_store_load.h"
#include "viz/charts/gradient_plots.h"
#include "viz/charts/schedule.h"
#include "viz/charts/timeline.h"
#include "viz/lanes/passes.h"
#include "viz/paper/render.h"

#include <stdlib.h>
#include <string.h>

/* A picture that is drawn here, not by Graphviz. */
struct drawing {
    const struct show_options *options;
    const struct trace *trace;
};

static bool write_timeline(FILE *file, const struct trace *trace, bool wall,
                           struct failure *failure)
{
    if (wall && !viz_timeline_has_wall(trace)) {
        failure_set(failure, FAILURE_NOTHING,
                    "the run has no wall times; record them with --record events");
        return false;
    }
    struct viz_timeline options = {.wall = wall, .alone = true};
    return viz_timeline_write(file, trace, &options, failure);
}

static bool write_schedule(FILE *file, const struct trace *trace, struct failure *failure)
{
    struct viz_block *blocks;
    size_t count;
    if (!viz_schedule_blocks(trace, &blocks, &count, failure))
        return false;
    free(blocks);
    if (!count) {
        failure_set(failure, FAILURE_NOTHING,
                    "the run has no schedule: no node is named like a block (F3, B3, 0F3)");
        return false;
    }
    return viz_schedule_write(file, trace, "schedule", true, failure);
}

static bool write_drawing(void *context, FILE *file, struct failure *failure)
{
    const struct drawing *drawing = context;
    const struct show_options *options = drawing->options;
    switch (options->picture) {
    case PICTURE_TIMELINE:
    case PICTURE_WALL:
        return write_timeline(file, drawing->trace, options->picture == PICTURE_WALL, failure);
    case PICTURE_SCHEDULE:
        return write_schedule(file, drawing->trace, failure);
    case PICTURE_METRICS:
        return metric_plots_write_file(file, drawing->trace, options->plot, options->axes, failure);
    default:
        return gradient_plots_write(file, drawing->trace, failure);
    }
}

static bool draw_here(const struct show_options *options, const struct trace *trace,
                      struct failure *failure)
{
    const char *output = options->output;
    size_t length = strlen(output);
    if (strcmp(output, "-") && (length < 4 || strcmp(output + length - 4, ".svg"))) {
        failure_set(failure, FAILURE_USAGE,
                    "%s: this picture is drawn as SVG; its name ends in .svg", output);
        return false;
    }
    struct drawing drawing = {options, trace};
    return output_write(output, write_drawing, &drawing, failure);
}

static bool write_passes(void *context, FILE *file, struct failure *failure)
{
    return viz_passes_write(file, context, failure);
}

/* Laid out by Graphviz when the name asks for a picture. */
static bool draw_passes(const char *output, const struct trace *trace, struct failure *failure)
{
    enum { SECONDS = 30 };
    size_t length = strlen(output), size = 0;
    const char *ending = length > 4 ? output + length - 4 : "";
    bool picture = !strcmp(ending, ".svg") || !strcmp(ending, ".png");
    if (!picture)
        return output_write(output, write_passes, (void *)(uintptr_t)trace, failure);
    char *dot = NULL;
    FILE *file = open_memstream(&dot, &size);
    bool good = file && viz_passes_write(file, trace, failure);
    if (file)
        fclose(file);
    good = good && viz_render(dot, size, ending + 1, output, SECONDS, failure);
    free(dot);
    return good;
}

static bool draw(const struct show_options *options, const struct stored *stored,
                 struct failure *failure)
{
    char run[32];
    struct viz_options graph = viz_options_default();
    snprintf(run, sizeof run, "run %lld", (long long)stored->result.run);
    graph.view = options->view;
    graph.all = options->all;
    graph.run = run;
    if (options->picture == PICTURE_PASSES)
        return draw_passes(options->output, stored->result.verdict.result.trace, failure);
    if (options->picture != PICTURE_DAG)
        return draw_here(options, stored->result.verdict.result.trace, failure);
    if (options->finding && !stored_finding(stored, options->finding, &graph.finding, failure))
        return false;
    return output_graph(options->output, stored->result.verdict.result.trace,
                        &stored->result.verdict.findings, &graph, failure);
}

int command_graph(int argc, char **argv)
{
    struct show_options options;
    struct stored stored;
    struct command_words words = {.most = 1};
    struct failure failure = {0};
    show_options_init(&options);
    int status = command_parse("graph", &options, argc, argv, &words);
    if (status >= 0)
        return status;
    bool good =
        stored_open(&stored, options.database, words.count ? words.words[0] : NULL, &failure) &&
        draw(&options, &stored, &failure);
    stored_release(&stored);
    return good ? EXIT_PASSED : command_fail("graph", &failure);
}

static bool report(const struct show_options *options, const struct command_words *words,
                   struct failure *failure)
{
    size_t count = words->count ? (size_t)words->count : 1, loaded = 0;
    struct stored *stored = calloc(count, sizeof *stored);
    struct report_texts *texts = calloc(count, sizeof *texts);
    struct viz_run_info *infos = calloc(count, sizeof *infos);
    struct viz_report_run *runs = calloc(count, sizeof *runs);
    bool good = stored && texts && infos && runs;
    if (!good)
        failure_set(failure, FAILURE_INTERNAL, "out of memory");
    for (; good && loaded < count; loaded++) {
        const char *word = words->count ? words->words[loaded] : NULL;
        struct result *result = &stored[loaded].result;
        good = stored_open(&stored[loaded], options->database, word, failure);
        if (!good)
            continue;
        infos[loaded] = result_info(result, &texts[loaded]);
        runs[loaded] = (struct viz_report_run){&infos[loaded], result->verdict.result.trace,
                                               &result->verdict.findings};
    }
    good = good && output_report(options->output, runs, count, failure);
    for (size_t i = 0; i < loaded; i++)
        stored_release(&stored[i]);
    free(stored);
    free(texts);
    free(infos);
    free(runs);
    return good;
}

int command_report(int argc, char **argv)
{
    struct show_options options;
    struct command_words words = {.most = COMMAND_ANY};
    struct failure failure = {0};
    show_options_init(&options);
    int status = command_parse("report", &options, argc, argv, &words);
    if (status >= 0)
        return status;
    return report(&options, &words, &failure) ? EXIT_PASSED : command_fail("report", &failure);
}
