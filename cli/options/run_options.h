/* The options of `simrun run`. */
#ifndef CLI_OPTIONS_RUN_OPTIONS_H
#define CLI_OPTIONS_RUN_OPTIONS_H

#include "cli/options/fault_options.h"
#include "cli/options/job_plan.h"
#include "cli/options/options.h"
#include "traces/trace/finding.h"

/* Without a call of MPI for so long a run is ended, unless it was told otherwise. */
enum { RUN_STALL_SECONDS = 600 };

struct run_options {
    int ranks[64];
    int rank_count; /* 0: not given */
    enum sim_loader loader;
    const char *share; /* libraries that all ranks share, NULL: none */
    struct sim_world_options world;
    struct fault_option faults[SIM_FAULTS_MAX]; /* see fault_options.h */
    int fault_count;
    const char
        *sweep;       /* the kind of fault that `simrun prove` lets strike everywhere, NULL: none */
    bool sweep_pairs; /* and all pairs of them */
    bool all_models;
    int streams; /* enum device_streams */
    int order;
    const char *mutant, *database, *checks, *fail_on, *schedule;
    const char *allow[64];
    int allow_count;
    enum record_level record;
    size_t record_limit; /* bytes, 0: the usual */
    double timeout;
    double stall; /* seconds without progress, 0: any */
    int restart, restarts_max;
    int workers;
    bool tap, json, quiet, verbose, help, gdb, tag_output, sandbox;
    uint64_t runs_max; /* of an exploration; 0: no bound */
    const char *junit, *html, *dot, *chrome, *color, *wrapper;
    bool github;
    size_t check_elements;
    int repeat;
    int points;
    enum vary vary;
    bool no_gradients;
    unsigned require;  /* enum coverage_demand */
    double budget;     /* seconds, of `simrun prove` */
    bool whole_budget; /* it was asked for: also for what it cannot suffice for */
    bool exploring;    /* an exploration, reported as by `simrun prove` */
    const char *sarif;
};

/* The words of options that take one, by the number of their meaning; NULL after the last. */
extern const char *const run_option_orders[],
    *const run_option_loaders[], *const run_option_reduce_orders[], *const run_option_levels[],
                                                                        *const run_option_varies[];

void run_options_init(struct run_options *options);
/* Of `simrun run`, of commands that judge files and stored runs, and of `simrun explore`. */
extern const struct option_row run_option_rows[], check_option_rows[], explore_option_rows[],
    prove_option_rows[];
/* Appends the options that decide what one run does and says, with the job's ranks and model: "-n 4
 * --send batch". What is as usual is left out. */
void run_options_text(const struct run_options *options, const struct job *job, char *text,
                      size_t size);
/* False after one sentence on stderr: options that exclude each other. */
bool run_options_agree(const char *command, const struct run_options *options);

/* The severity from which on a finding fails. */
enum severity run_options_threshold(const struct run_options *options);

#endif
