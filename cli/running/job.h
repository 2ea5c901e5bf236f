/* A job: one program at one number of ranks with one set of options; what there is to run and
 * check. */
#ifndef CLI_RUNNING_JOB_H
#define CLI_RUNNING_JOB_H

#include "recorder/recording.h"
#include "sim/programs/loader.h"
#include "sim/worlds/fault.h"
#include "sim/worlds/world.h"
#include "traces/trace/finding.h"
#include "traces/trace/trace.h"

struct explore_steer;

struct job {
    char name[128];   /* as the user called it: scenario or file */
    char source[512]; /* the .c file, "" when there is none */
    char object[512]; /* what is loaded */
    int argc;
    char **argv;      /* argv[0] is the name; NULL-terminated */
    int sources_more; /* words behind the name that are further sources, and a "--" behind them */
    struct sim_world_options world;
    struct sim_fault faults[SIM_FAULTS_MAX]; /* what world.faults says, of this number of ranks */
    enum sim_loader loader;
    const char *share;           /* libraries that all ranks share, NULL: none */
    const char *schedule;        /* the choices it makes (options/schedule.h), NULL: as they come */
    struct explore_steer *steer; /* that makes it do so; job_run's own */
    int order;                   /* -1: the program's own, else an enum diff_order */
    const char *mutant;          /* NULL: none */
    double timeout;              /* seconds, 0: none */
    double stall;                /* seconds without any progress, 0: any */
    enum record_level record;
    bool gradients, tag_output;
    bool quiet;                /* the ranks' output goes nowhere */
    struct progress *progress; /* who shows how far it is, NULL: nobody */
    bool notices;              /* say on stderr where a rank computes for long */
    int workers;               /* worlds side by side, at least 1 */
    int restart, restarts_max; /* how often the group was started again, and may be */
    int points;                /* where gradients are compared, 0: as many as cost little */
    int repeat;                /* so many repetitions with gradients compared */
    enum vary { VARY_ALL, VARY_ORDER, VARY_CHOICES } vary; /* what they vary */
    size_t check_elements; /* elements of an input to check, 0: all up to the default */
};

/* Of so many ranks it is known apart what they print. */
enum { JOB_PRINTED_RANKS = 64 };

/* What came of it. */
struct job_result {
    enum trace_outcome outcome;
    struct trace *trace; /* NULL when nothing was recorded and no rank failed */
    uint64_t started_ns, stopped_ns,
        ended_ns; /* monotonic: the run's begin, when nobody could move, its end */
    uint64_t steps, switches;
    uint64_t printed; /* hash of what the ranks printed on stdout, each in its own order */
    uint64_t printed_of[JOB_PRINTED_RANKS]; /* the same of each of the first ranks */
    size_t choices_made, choices_missed;    /* of the schedule's */
    bool cut_off;    /* it was ended in the middle: what it had not done yet says nothing */
    char crash[256]; /* a sentence about how the child ended, "" when as it should */
};

/* What the program gets of these words. For the process that runs it: the words may be changed. */
char **job_arguments(const struct job *job, int *argc);

/* Runs the job in a child process; fills `result` whatever happens to the child. False only when no
 * child could be made. */
bool job_run(const struct job *job, struct job_result *result, struct failure *failure);
void job_result_release(struct job_result *result);

#endif
