/* What a job is to do: one program at one number of ranks with one set of options. Options fill it
 * in (run_options.h), running/job.h runs it. */
#ifndef CLI_OPTIONS_JOB_PLAN_H
#define CLI_OPTIONS_JOB_PLAN_H

#include "recorder/recording.h"
#include "sim/programs/loader.h"
#include "sim/worlds/fault.h"
#include "sim/worlds/world.h"

struct explore_steer;

struct job {
    uint64_t began_ns; /* monotonic: since when a person waits for it */
    char name[128];    /* as the user called it: scenario or file */
    char source[512];  /* the .c file, "" when there is none */
    char object[512];  /* what is loaded */
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
    /* seconds after which an exploration ends that cannot end within the timeout; 0: none */
    double patience;
    double stall; /* seconds without any progress, 0: any */
    enum record_level record;
    size_t record_limit; /* bytes, 0: the usual */
    bool gradients, tag_output, sandbox;
    const char *scratch;       /* the sandbox's folder; job_run's own */
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

/* What the program gets of these words. For the process that runs it: the words may be changed. */
char **job_arguments(const struct job *job, int *argc);

#endif
