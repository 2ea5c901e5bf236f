/* simrun graph and report: pictures and pages of stored runs. */
#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/show_options.h"
#include "cli/stored.h"
#include "viz/gradient_plots.h"

#include <stdlib.h>
#include <string.h>

static bool write_gradients(void *context, FILE *file, struct failure *failure)
{
    return gradient_plots_write(file, context, failure);
}

/* Plots are drawn here, not by Graphviz: SVG only. */
static bool draw_gradients(const char *output, struct trace *trace, struct failure *failure)
{
    size_t length = strlen(output);
    if (strcmp(output, "-") && (length < 4 || strcmp(output + length - 4, ".svg"))) {
        failure_set(failure, FAILURE_USAGE, "%s: plots of gradients are written as .svg", output);
        return false;
    }
    return output_write(output, write_gradients, trace, failure);
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
    if (options->gradients)
        return draw_gradients(options->output, stored->result.verdict.result.trace, failure);
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
    struct command_words words = {.most = COMMAND_WORDS};
    struct failure failure = {0};
    show_options_init(&options);
    int status = command_parse("report", &options, argc, argv, &words);
    if (status >= 0)
        return status;
    return report(&options, &words, &failure) ? EXIT_PASSED : command_fail("report", &failure);
}
