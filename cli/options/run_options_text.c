/* The options of `simrun run` as text: the command line that repeats a run. See run_options.h. */
#include "cli/options/run_options.h"

#include "checker/options.h"
#include "cli/options/shell_words.h"
#include "traces/trace/names.h"

#include <stdio.h>
#include <string.h>

const char *const run_option_orders[] = {"program", "data", NULL};
const char *const run_option_loaders[] = {"clone", "dlopen", "shared", NULL};
const char *const run_option_reduce_orders[] = {"linear", "tree", "ring", "seed", NULL};
const char *const run_option_levels[] = {"none", "findings", "ops", "events", NULL};
const char *const run_option_varies[] = {"all", "order", "choices", NULL};

static void append(char *text, size_t size, const char *option, const char *value)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, " --%s%s", option, value ? " " : "");
    if (value)
        shell_word_append(text, size, value);
}

static void append_number(char *text, size_t size, const char *option, unsigned long long value)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%llu", value);
    append(text, size, option, digits);
}

static void world_text(const struct sim_world_options *world, char *text, size_t size)
{
    struct sim_world_options usual;
    sim_world_options_init(&usual);
    if (world->send_model != SIM_SEND_EAGER)
        append(text, size, "send", trace_model_names[world->send_model]);
    else if (world->eager_limit == SIZE_MAX)
        append(text, size, "send", "eager:unlimited");
    else if (world->eager_limit != usual.eager_limit) {
        char limit[40];
        snprintf(limit, sizeof limit, "eager:%zu", world->eager_limit);
        append(text, size, "send", limit);
    }
    if (world->driver == SIM_CHOOSE_SEED)
        append_number(text, size, "seed", world->seed);
    if (world->fault_count) {
        char faults[SIM_FAULTS_MAX * 48];
        fault_options_text(world, faults, sizeof faults);
        append(text, size, "fault", faults);
    }
    if (world->executor == SIM_THREADS)
        append(text, size, "os-threads", NULL);
    if (world->cores)
        append_number(text, size, "cores", (unsigned)world->cores);
    else if (world->wide == SIM_WIDE_AT_ONCE)
        append(text, size, "cores", "all");
    if (world->memory)
        append(text, size, "memory", NULL);
    if (world->late_receives)
        append(text, size, "delivery", "late");
    if (world->late_rank) {
        char rank[24];
        snprintf(rank, sizeof rank, "rank:%d", world->late_rank - 1);
        append(text, size, "delivery", rank);
    }
    if (world->strict_collectives)
        append(text, size, "strict", NULL);
    if (world->reduce_order != usual.reduce_order)
        append(text, size, "reduce-order", run_option_reduce_orders[world->reduce_order]);
    if (world->stack_size != usual.stack_size)
        append_number(text, size, "stack-size", world->stack_size);
}

void run_options_text(const struct run_options *options, const struct job *job, char *text,
                      size_t size)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, " -n %d", job->world.ranks);
    world_text(&job->world, text, size);
    if (options->schedule)
        append(text, size, "schedule", options->schedule);
    if (options->order >= 0)
        append(text, size, "order", run_option_orders[options->order]);
    if (options->loader)
        append(text, size, "loader", run_option_loaders[options->loader]);
    if (options->share)
        append(text, size, "share", options->share);
    if (options->mutant)
        append(text, size, "mutant", options->mutant);
    if (options->streams)
        append(text, size, "streams",
               options->streams == STREAMS_DEVICE ? "device" : "communicator");
    if (options->checks)
        append(text, size, "check", options->checks);
    if (options->check_elements)
        append_number(text, size, "check-elements", options->check_elements);
    if (options->points)
        append_number(text, size, "points", (unsigned long long)options->points);
    if (options->repeat)
        append_number(text, size, "repeat", (unsigned long long)options->repeat);
    if (options->vary)
        append(text, size, "vary", run_option_varies[options->vary]);
    if (options->sandbox)
        append(text, size, "sandbox", NULL);
    if (options->no_gradients)
        append(text, size, "no-gradients", NULL);
    if (options->record != RECORD_LEVEL_OPS)
        append(text, size, "record", run_option_levels[options->record]);
    if (options->record_limit)
        append_number(text, size, "record-limit", options->record_limit);
    if (options->stall != RUN_STALL_SECONDS) {
        char seconds[32];
        snprintf(seconds, sizeof seconds, "%g", options->stall);
        append(text, size, "stall", seconds);
    }
    if (options->timeout > 0) {
        char seconds[40];
        snprintf(seconds, sizeof seconds, "%g", options->timeout);
        append(text, size, "timeout", seconds);
    }
    if (job->restart) /* this very attempt, which is not started again */
        append_number(text, size, "restart-count", (unsigned long long)job->restart);
    for (int i = 0; i < options->allow_count; i++)
        append(text, size, "allow", options->allow[i]);
    if (options->fail_on && strcmp(options->fail_on, "error"))
        append(text, size, "fail-on", options->fail_on);
}
