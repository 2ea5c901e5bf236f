/* Plots of metrics: which curves there are, what they are called, the fitted slope. */
#include "tests/tap.h"

#include "viz/charts/metric_plots.h"
#include "viz/charts/plots.h"

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

/* The file of one plot (NULL: all), to be freed; "" with the failure's sentence where there is
 * none. */
static char *draw(const struct trace *trace, const char *name, enum metric_axes axes,
                  struct failure *failure)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    *failure = (struct failure){0};
    metric_plots_write_file(file, trace, name, axes, failure);
    fclose(file);
    return text;
}

static void slopes(void)
{
    double x[4] = {1, 10, 100, 1000}, y[4] = {8, 0.8, 0.08, 0.008}, bad[4] = {-1, 0, NAN, 5};
    tap_is_double(viz_fitted_slope(&(struct viz_series){"s", x, y, 4, false}), -1, 1e-12,
                  "the slope of 8/x is -1");
    y[1] = NAN;
    tap_is_double(viz_fitted_slope(&(struct viz_series){"s", x, y, 4, false}), -1, 1e-12,
                  "what is not a number does not count");
    tap_ok(isnan(viz_fitted_slope(&(struct viz_series){"s", x, bad, 4, false})),
           "without three points there is none");
    tap_ok(isnan(viz_fitted_slope(&(struct viz_series){"s", y, x, 0, false})), "nor without any");
    double same[4] = {7, 7, 7, 7};
    tap_ok(isnan(viz_fitted_slope(&(struct viz_series){"s", same, x, 4, false})),
           "nor over a single step");
}

/* Two curves with steps that grow by factors, recorded by rank 0 in turns. */
static void curves(void)
{
    struct trace *trace = trace_new(4);
    struct failure failure;
    for (int k = 1; k <= 1024; k *= 2) {
        trace_add_metric_at(trace, "norm M=4", 0, k, 4 / sqrt(k), "");
        trace_add_metric(trace, "wall", -1, k, "s");
        trace_add_metric_at(trace, "norm M=8", 0, k, 8.0 / k, "");
    }
    trace_add_metric(trace, "single", -1, 1, "");
    char *text = draw(trace, NULL, AXES_AUTO, &failure);
    tap_is_int((long)count_of(text, "<svg"), 3, "a plot for each first word with enough values");
    tap_is_int((long)count_of(text, ">M=4: slope -0.50<") +
                   (long)count_of(text, ">M=8: slope -1.00<"),
               2, "each curve is named by the rest and has its slope");
    tap_is_int((long)count_of(text, "<circle class=\"dot a\""), 23,
               "each value has its mark, and the legend one");
    free(text);
    text = draw(trace, "norm", AXES_LINEAR, &failure);
    tap_ok(count_of(text, "<svg") == 2 && !strstr(text, "slope"),
           "one plot alone; on linear axes there is no slope");
    free(text);
    text = draw(trace, "wall", AXES_LOG_LOG, &failure);
    tap_ok(strstr(text, ">wall: slope") && strstr(text, "recorded value, in order"),
           "values without steps stand in the order of recording");
    free(text);
    text = draw(trace, "norms", AXES_AUTO, &failure);
    tap_is_str(failure.text, "no plot 'norms'; there is: norm, wall",
               "a plot that is not there is refused with those there are");
    free(text);
    trace_free(trace);
}

static void ranks(void)
{
    struct trace *trace = trace_new(16);
    struct failure failure;
    for (int rank = 0; rank < 16; rank++)
        for (int step = 0; step < 10; step++) {
            if (rank < 3)
                trace_add_metric_at(trace, "few", rank, step, rank + step, "");
            trace_add_metric_at(trace, "many", rank, step, rank + step, "");
            trace_add_metric_at(trace, "staleness", rank, step, rank % 3, "");
        }
    char *text = draw(trace, "few", AXES_AUTO, &failure);
    tap_is_int((long)count_of(text, "<polyline"), 6, "few ranks have a curve each");
    tap_ok(strstr(text, ">rank 2<"), "named by the rank");
    free(text);
    text = draw(trace, "many", AXES_AUTO, &failure);
    tap_is_int((long)count_of(text, "<polyline"), 1, "many ranks are averaged to one");
    tap_ok(strstr(text, ">7.5<") || strstr(text, ">16<") || strstr(text, ">18<"),
           "whose axis holds the mean of 7.5 to 16.5");
    tap_ok(!strstr(text, ">26<") && !strstr(text, ">30<"), "and not the largest rank's 24");
    free(text);
    text = draw(trace, "staleness", AXES_AUTO, &failure);
    tap_is_int((long)count_of(text, "class=\"bar\""), 3, "staleness is one histogram of all ranks");
    tap_ok(strstr(text, "<title>0: 60</title>") && strstr(text, "<title>2: 50</title>"),
           "which counts every value");
    free(text);
    trace_free(trace);
    trace = trace_new(1);
    text = draw(trace, NULL, AXES_AUTO, &failure);
    tap_ok(failure.code == FAILURE_NOTHING && strstr(failure.text, "SIM_Metric"),
           "a run without metrics says how there would be some");
    free(text);
    trace_free(trace);
}

/* Steps 64, 256, 1024 grow by factors; 1 .. 40 do not. */
static void axes(void)
{
    struct trace *trace = trace_new(1);
    struct failure failure;
    for (int k = 64; k <= 1024; k *= 4)
        trace_add_metric_at(trace, "factors", 0, k, 1 / sqrt(k), "");
    for (int k = 1; k <= 40; k++)
        trace_add_metric_at(trace, "steady", 0, k, 1 + k, "");
    char *text = draw(trace, "factors", AXES_AUTO, &failure);
    tap_ok(strstr(text, "slope -0.50"), "steps that grow by factors get logarithmic axes");
    free(text);
    text = draw(trace, "steady", AXES_AUTO, &failure);
    tap_ok(!strstr(text, "slope"), "steady steps do not");
    free(text);
    trace_free(trace);
}

int main(void)
{
    axes();
    slopes();
    curves();
    ranks();
    return tap_done();
}
