/* Schedules and plots: the numbers in the picture are those of the data. */
#include "tests/tap.h"
#include "tests/viz/viz_samples.h"
#include "viz/charts/plots.h"
#include "viz/charts/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

static void test_names(void)
{
    struct viz_block block;
    tap_ok(viz_block_parse("F3", &block) && block.action == 'F' && block.microbatch == 3 &&
               block.stage == -1,
           "F3 is the forward of microbatch 3");
    tap_ok(viz_block_parse("12B7", &block) && block.action == 'B' && block.microbatch == 7 &&
               block.stage == 12,
           "12B7 is the backward of microbatch 7 at stage 12");
    tap_ok(!viz_block_parse("Bcast", &block) && !viz_block_parse("F", &block) &&
               !viz_block_parse("", &block) && !viz_block_parse("F3x", &block) &&
               !viz_block_parse("7", &block),
           "other names are not blocks");
}

/* S stages and M microbatches of a forward and a backward each: the bubble of both schedules is
 * (S-1)/(M+S-1). */
static void test_bubble(bool alternate, unsigned stages, int microbatches)
{
    struct trace *trace = sample_pipeline(stages, microbatches, alternate);
    struct viz_block *blocks;
    size_t count;
    bool done = viz_schedule_blocks(trace, &blocks, &count, NULL);
    double expected = (stages - 1.0) / ((double)microbatches + stages - 1.0);
    tap_ok(done && count == 2u * stages * (unsigned)microbatches, "%s has all its blocks",
           trace->program);
    tap_is_double(viz_schedule_bubble(blocks, count, stages), expected, 1e-12,
                  "%s with %u stages and %d microbatches has the bubble of theory", trace->program,
                  stages, microbatches);
    bool apart = true;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            apart = apart && (blocks[i].rank != blocks[k].rank ||
                              blocks[i].start >= blocks[k].start + blocks[k].length ||
                              blocks[k].start >= blocks[i].start + blocks[i].length);
    tap_ok(apart, "%s: no two blocks of a rank overlap", trace->program);
    free(blocks);
    trace_free(trace);
}

/* Cells of a schedule file: computations whose place names them, two of them in one cell. */
static void test_cells(void)
{
    struct trace *trace = trace_new(1);
    sample_head(trace, "overlap.csv");
    uint32_t first = trace_add_site(trace, "overlap.csv", 1, "column 1: 0F0");
    uint32_t second = trace_add_site(trace, "overlap.csv", 1, "column 2: (0F1;0B0)OVERLAP_F_B");
    uint32_t third = trace_add_site(trace, "overlap.csv", 1, "column 3: 0UNSHARD");
    uint32_t cells[] = {first, second, second, third};
    for (size_t i = 0; i < 4; i++)
        sample_op(trace, 0, TRACE_NO, OP_COMPUTE, TRACE_NONE, TRACE_NONE, STATE_COMPLETE, cells[i]);
    trace_finish(trace, NULL);
    struct viz_block *blocks;
    size_t count;
    viz_schedule_blocks(trace, &blocks, &count, NULL);
    tap_is_int(count, 3,
               "a cell of two actions has two blocks, one that computes nothing has none");
    tap_ok(count == 3 && blocks[1].action == 'F' && blocks[1].microbatch == 1 &&
               blocks[2].action == 'B' && blocks[2].microbatch == 0 && blocks[2].start == 2,
           "they follow each other in the order of the cell");
    free(blocks);
    trace_free(trace);
}

/* Blocks that a program names while it runs; the message of the last one comes late. */
static void test_named(void)
{
    struct trace *trace = trace_new(2);
    sample_head(trace, "named.c");
    trace_add_metric_at(trace, "block 0F", 0, 1, 0, "");
    trace_add_metric_at(trace, "block 0F", 0, 2, 1, "");
    uint32_t send = sample_op(trace, 0, TRACE_NO, OP_SEND, 1, 0, STATE_COMPLETE, 0);
    trace->ops[send].begin = 3;
    uint32_t receive = sample_op(trace, 1, TRACE_NO, OP_RECV, 0, 0, STATE_COMPLETE, 0);
    trace->ops[receive].begin = 1;
    trace_add_metric_at(trace, "block 1B", 1, 5, 1, "");
    trace_add_metric_at(trace, "block of wood", 1, 5, 1, "");
    trace_finish(trace, NULL);
    struct viz_block *blocks;
    size_t count;
    viz_schedule_blocks(trace, &blocks, &count, NULL);
    tap_ok(count == 3 && blocks[1].action == 'F' && blocks[1].microbatch == 1 &&
               blocks[1].start == 1,
           "blocks a program names stand in the order of their steps");
    tap_ok(count == 3 && blocks[2].rank == 1 && blocks[2].stage == 1 && blocks[2].start == 2 &&
               blocks[2].length == 2,
           "and after the messages received before them");
    free(blocks);
    trace_free(trace);
}

static void test_plots(void)
{
    char *svg = NULL;
    size_t size = 0;
    double x[6] = {1e-1, 1e-2, 1e-3, 1e-4, -1, NAN}, y[6] = {1e-2, 1e-4, 1e-6, 1e-8, 1, 1};
    FILE *file = open_memstream(&svg, &size);
    struct viz_curves curves = {.title = "a<b",
                                .x_label = "h",
                                .y_label = "error",
                                .log_x = true,
                                .log_y = true,
                                .series = {{"s", x, y, 6, false}},
                                .series_count = 1,
                                .chosen_x = 1e-4,
                                .chosen_y = 1e-8,
                                .slopes = {2, 0}};
    viz_plot_curves(file, &curves);
    fclose(file);
    tap_is_int(count_of(svg, "class=\"dot a\""), 4,
               "points that have no place on a logarithmic axis are left out");
    tap_ok(strstr(svg, "class=\"chosen\"") && strstr(svg, "slope 2"),
           "the chosen point is ringed, the slope drawn");
    tap_ok(!strstr(svg, "nan") && !strstr(svg, "inf") && !strstr(svg, "a<b"),
           "no number is not one, and words are escaped");
    free(svg);

    double values[6] = {0, 1e-9, NAN, 5e-8, 1, INFINITY};
    file = open_memstream(&svg, &size);
    struct viz_heat heat = {.title = "heat",
                            .row_label = "r",
                            .column_label = "c",
                            .values = values,
                            .rows = 2,
                            .columns = 3,
                            .limit = 1e-8};
    viz_plot_heat(file, &heat);
    fclose(file);
    tap_is_int(count_of(svg, "class=\"cell v0\""), 2, "values within the limit are right");
    tap_is_int(count_of(svg, "class=\"cell v1\""), 1, "a value just above the limit is not");
    tap_is_int(count_of(svg, "class=\"cell none\""), 1,
               "a value that is missing is neither right nor wrong");
    tap_is_int(count_of(svg, "class=\"cell v4\""), 2,
               "a value that is far off, or infinite, is as wrong as can be");
    free(svg);

    double stale[7] = {0, 1, 1, 2, 2, 2, 3};
    file = open_memstream(&svg, &size);
    struct viz_histogram histogram = {
        .title = "staleness", .x_label = "steps", .values = stale, .count = 7};
    viz_plot_histogram(file, &histogram);
    fclose(file);
    tap_is_int(count_of(svg, "class=\"bar\""), 4, "few integers get a bar each");
    tap_ok(strstr(svg, "<title>2: 3</title>"), "a bar counts its values");
    free(svg);
    histogram.count = 0;
    file = open_memstream(&svg, &size);
    viz_plot_histogram(file, &histogram);
    fclose(file);
    tap_ok(!strstr(svg, "nan"), "an empty histogram is empty");
    free(svg);
}

int main(void)
{
    tap_plan(26);
    test_names();
    test_bubble(false, 4, 8);
    test_bubble(true, 4, 8);
    test_bubble(true, 2, 3);
    test_cells();
    test_named();
    test_plots();
    return tap_done();
}
