/* The options of `simrun run`: see run_options.h. */
#include "cli/options/run_options.h"

#include "checker/options.h"
#include "cli/options/ranks.h"
#include "cli/options/schedule.h"
#include "cli/options/suggest.h"
#include "cli/options/values.h"
#include "collectives/experiment/mutant.h"
#include "verdict/allow.h"

#include <float.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void run_options_init(struct run_options *options)
{
    *options = (struct run_options){.order = -1,
                                    .database = "./simrun.db",
                                    .record = RECORD_LEVEL_OPS,
                                    .runs_max = 1000000,
                                    .budget = 50,

                                    .stall = RUN_STALL_SECONDS};
    sim_world_options_init(&options->world);
    options->world.wide = SIM_WIDE_AUTO;
}

static bool set_ranks(void *target, const char *value)
{
    struct run_options *options = target;
    struct failure failure = {0};
    if (ranks_parse(value, options->ranks, (int)(sizeof options->ranks / sizeof *options->ranks),
                    &options->rank_count, &failure))
        return true;
    fprintf(stderr, "simrun: --ranks %s\n", failure.text);
    return false;
}

static bool set_seed(void *target, const char *value)
{
    struct run_options *options = target;
    unsigned long long number;
    if (!value_number(value, &number))
        return value_refused("seed", value, "a whole number of at most 64 bits");
    options->world.seed = number;
    options->world.driver = SIM_CHOOSE_SEED;
    return true;
}

static bool set_send(void *target, const char *value)
{
    struct run_options *options = target;
    options->all_models = !strcmp(value, "all");
    if (options->all_models)
        return true;
    if (!strncmp(value, "eager", 5)) {
        options->world.send_model = SIM_SEND_EAGER;
        if (!value[5])
            return true;
        if (!strcmp(value + 5, ":none") || !strcmp(value + 5, ":unlimited")) {
            options->world.eager_limit = SIZE_MAX;
            return true;
        }
        if (value[5] == ':' && value_bytes(value + 6, &options->world.eager_limit))
            return true;
    }
    if (!strcmp(value, "rendezvous")) {
        options->world.send_model = SIM_SEND_RENDEZVOUS;
        return true;
    }
    if (!strcmp(value, "batch")) {
        options->world.send_model = SIM_SEND_BATCH;
        return true;
    }
    return value_refused("send", value,
                         "eager, eager:BYTES, eager:unlimited, rendezvous, batch or all");
}

static bool set_streams(void *target, const char *value)
{
    struct run_options *options = target;
    bool each = !strcmp(value, "communicator");
    options->streams = each ? STREAMS_COMMUNICATOR : STREAMS_DEVICE;
    return each || !strcmp(value, "device") ||
           value_refused("streams", value, "communicator or device");
}

static bool set_delivery(void *target, const char *value)
{
    struct run_options *options = target;
    int rank = -1;
    bool one = !strncmp(value, "rank:", 5) && value_between(value + 5, 0, INT_MAX - 1, &rank);
    options->world.late_receives = !strcmp(value, "late");
    options->world.late_rank = rank + 1;
    return options->world.late_receives || !strcmp(value, "early") || one ||
           value_refused("delivery", value, "early, late or rank:R");
}

static bool set_order(void *target, const char *value)
{
    int order = value_word(value, run_option_orders);
    ((struct run_options *)target)->order = order;
    return order >= 0 || value_refused("order", value, "program or data");
}

static bool set_loader(void *target, const char *value)
{
    int loader = value_word(value, run_option_loaders);
    if (loader >= 0)
        ((struct run_options *)target)->loader = (enum sim_loader)loader;
    return loader >= 0 || value_refused("loader", value, "clone, dlopen or shared");
}

static bool set_reduce_order(void *target, const char *value)
{
    int order = value_word(value, run_option_reduce_orders);
    if (order >= 0)
        ((struct run_options *)target)->world.reduce_order = (enum sim_reduce_order)order;
    return order >= 0 || value_refused("reduce-order", value, "linear, tree, ring or seed");
}

static bool set_stack(void *target, const char *value)
{
    struct run_options *options = target;
    if (value_bytes(value, &options->world.stack_size) && options->world.stack_size >= 16384)
        return true;
    return value_refused("stack-size", value, "a size from 16K to 128T, such as 8M");
}

static bool set_record_limit(void *target, const char *value)
{
    struct run_options *options = target;
    if (value_bytes(value, &options->record_limit) && options->record_limit >= (size_t)16 << 20)
        return true;
    return value_refused("record-limit", value, "a size from 16M to 128T, such as 2G");
}

static bool set_stall(void *target, const char *value)
{
    return value_seconds(value, 0, &((struct run_options *)target)->stall) ||
           value_refused("stall", value, "a number of seconds, or 0");
}

static bool set_timeout(void *target, const char *value)
{
    return value_seconds(value, DBL_MIN, &((struct run_options *)target)->timeout) ||
           value_refused("timeout", value, "a number of seconds above 0");
}

/* "60", "60s", "2m". */
static bool set_budget(void *target, const char *value)
{
    struct run_options *options = target;
    char *end;
    options->budget = strtod(value, &end);
    options->whole_budget = true;
    if (end != value && *end == 'm')
        options->budget *= 60, end++;
    else if (end != value && *end == 's')
        end++;
    if (*value && !*end && options->budget > 0)
        return true;
    return value_refused("budget", value, "a time such as 60s or 2m");
}

/* A setter of a number between two bounds. */
#define NUMBER(setter, option, field, least, most)                                                 \
    static bool setter(void *target, const char *value)                                            \
    {                                                                                              \
        return value_between(value, least, most, &((struct run_options *)target)->field) ||        \
               value_refused(option, value, "a number from " #least " to " #most);                 \
    }
NUMBER(set_max_restarts, "max-restarts", restarts_max, 0, 1000)
NUMBER(set_restart_count, "restart-count", restart, 0, 1000)
NUMBER(set_workers, "threads", workers, 1, 1024)
NUMBER(set_points, "points", points, 1, 1000)
NUMBER(set_repeat, "repeat", repeat, 1, 100000)
#undef NUMBER

static bool set_check_elements(void *target, const char *value)
{
    struct run_options *options = target;
    unsigned long long number;
    if (!value_number(value, &number) || !number)
        return value_refused("check-elements", value, "a number above 0");
    options->check_elements = number;
    return true;
}

static bool set_vary(void *target, const char *value)
{
    int vary = value_word(value, run_option_varies);
    if (vary >= 0)
        ((struct run_options *)target)->vary = (enum vary)vary;
    return vary >= 0 || value_refused("vary", value, "order, choices or all");
}

static bool set_record(void *target, const char *value)
{
    int level = value_word(value, run_option_levels);
    if (level >= 0)
        ((struct run_options *)target)->record = (enum record_level)level;
    return level >= 0 || value_refused("record", value, "none, findings, ops or events");
}

static bool set_fail_on(void *target, const char *value)
{
    static const char *const severities[] = {"error", "warning", "note", NULL};
    ((struct run_options *)target)->fail_on = value;
    return value_word(value, severities) >= 0 ||
           value_refused("fail-on", value, "error, warning or note");
}

static bool set_mutant(void *target, const char *value)
{
    const char *names[DIFF_MUTANT_COUNT + 1] = {NULL};
    ((struct run_options *)target)->mutant = value;
    if (diff_mutant_number(value) >= 0)
        return true;
    for (size_t i = 0; i < DIFF_MUTANT_COUNT; i++)
        names[i] = diff_mutants[i].name;
    const char *near = suggest_name(value, names);
    fprintf(stderr, "simrun: --mutant '%s': no such mutant%s%s%s; see 'simrun mutants'\n", value,
            near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    return false;
}

static bool set_runs(void *target, const char *value)
{
    unsigned long long number;
    if (!value_number(value, &number))
        return value_refused("runs", value, "a number, 0 for no bound");
    ((struct run_options *)target)->runs_max = number;
    return true;
}

static bool set_schedule(void *target, const char *value)
{
    size_t count, at;
    struct explore_choice *choices = schedule_parse(value, &count, &at);
    ((struct run_options *)target)->schedule = value;
    if (!choices)
        fprintf(stderr,
                "simrun: --schedule: byte %zu ('%.20s'): expected choices such as "
                "r0.1=2.3,l1.0=2, as 'simrun explore' prints them\n",
                at + 1, value + at);
    free(choices);
    return choices != NULL;
}

static bool add_faults(void *target, const char *value)
{
    struct run_options *options = target;
    return fault_options_parse(value, options->faults, &options->fault_count);
}

/* "crash:1": all single ones; "crash:2": and all pairs. */
static bool set_sweep(void *target, const char *value)
{
    size_t length = strcspn(value, ":");
    int kind = sim_fault_kind(value, length);
    bool pairs = kind == SIM_FAULT_CRASH && !strcmp(value + length, ":2");
    if (kind < 0 || (strcmp(value + length, ":1") != 0 && !pairs))
        return value_refused(
            "faults", value,
            "KIND:1 for all single faults of a kind, such as crash:1 or drop:1, or "
            "crash:2 for all pairs of crashes");
    ((struct run_options *)target)->sweep_pairs = pairs;
    ((struct run_options *)target)->sweep = sim_fault_name((enum sim_fault_kind)kind);
    return true;
}

static bool set_require(void *target, const char *value)
{
    struct run_options *options = target;
    options->require = coverage_demands(value);
    return options->require ||
           value_refused("require", value, "complete, gradients, decided, or several with commas");
}

static bool set_color(void *target, const char *value)
{
    static const char *const words[] = {"auto", "always", "never", NULL};
    ((struct run_options *)target)->color = value;
    return value_word(value, words) >= 0 || value_refused("color", value, "auto, always or never");
}

static bool add_allow(void *target, const char *value)
{
    struct run_options *options = target;
    struct failure failure = {0};
    if (!allow_rule_valid(value, &failure)) {
        fprintf(stderr, "simrun: %s\n", failure.text);
        return false;
    }
    if (options->allow_count == (int)(sizeof options->allow / sizeof *options->allow))
        return value_refused("allow", value, "at most 64 of them");
    options->allow[options->allow_count++] = value;
    return true;
}

#define TEXT(field)                                                                                \
    static bool set_##field(void *target, const char *value)                                       \
    {                                                                                              \
        ((struct run_options *)target)->field = value;                                             \
        return true;                                                                               \
    }
#define SWITCH(field, member)                                                                      \
    static bool set_##field(void *target, const char *value)                                       \
    {                                                                                              \
        (void)value;                                                                               \
        ((struct run_options *)target)->member = true;                                             \
        return true;                                                                               \
    }

TEXT(database)
TEXT(checks)
TEXT(junit)
TEXT(sarif)
TEXT(html)
TEXT(dot)
TEXT(chrome)
TEXT(wrapper)
TEXT(share)
SWITCH(tap, tap)
SWITCH(json, json)
SWITCH(quiet, quiet)
SWITCH(verbose, verbose)
SWITCH(help, help)
SWITCH(gdb, gdb)
SWITCH(github, github)
SWITCH(tag_output, tag_output)
SWITCH(sandbox, sandbox)
SWITCH(strict, world.strict_collectives)
SWITCH(memory, world.memory)
SWITCH(no_gradients, no_gradients)

static bool set_os_threads(void *target, const char *value)
{
    (void)value;
    ((struct run_options *)target)->world.executor = SIM_THREADS;
    return true;
}

/* --cores N: so many; all: as many as there are. */
static bool set_cores(void *target, const char *value)
{
    struct run_options *options = target;
    int cores = 0;
    bool good = !strcmp(value, "all") || value_between(value, 1, CPU_SETSIZE, &cores);
    options->world.wide = cores == 1 ? SIM_WIDE_NEVER : SIM_WIDE_AT_ONCE;
    options->world.cores = cores;
    return good || value_refused("cores", value, "a number from 1 on, or all");
}

/* Rows that commands have in common. */
/* clang-format off */
#define OUTPUT_ROWS \
    {"tap", 0, NULL, "TAP 13 on stdout", set_tap},                                                 \
    {"json", 0, NULL, "one JSON object per run on stdout", set_json},                              \
    {"junit", 0, "FILE", "also write JUnit XML", set_junit},                                       \
    {"html", 0, "FILE", "also write an HTML report of all runs", set_html},                        \
    {"sarif", 0, "FILE", "also write SARIF 2.1.0 for code scanning", set_sarif},                   \
    {"dot", 0, "FILE", "also draw the run: .dot, .svg or .png", set_dot},                          \
    {"chrome", 0, "FILE", "also write a timeline for Perfetto", set_chrome},                       \
    {"github", 0, NULL, "also write GitHub annotations and a step summary", set_github},           \
    {"color", 0, "WHEN", "auto (default), always or never", set_color},                            \
    {"quiet", 'q', NULL, "only verdicts and what fails", set_quiet},                               \
    {"verbose", 'v', NULL, "more: every gradient comparison in full", set_verbose}
#define RANKS_ROW \
    {"ranks", 'n', "LIST", "numbers of ranks: 16, 2,3,5,7 or 2..8 (default: the scenario's)", set_ranks}
#define SEND_ROW {"send", 0, "MODEL", "eager[:BYTES|:unlimited], rendezvous, batch or all", set_send}
#define ORDER_ROW {"order", 0, "ORDER", "order of backward passes: program or data", set_order}
#define RUNS_ROW(help) {"runs", 0, "MOST", help, set_runs}
#define STREAMS_ROW \
    {"streams", 0, "WHICH", "communication runs on a GPU's streams: of each communicator, or one of the device", \
     set_streams}
#define MODE_ROWS \
    {"os-threads", 0, NULL, "each rank an OS thread instead of a fiber", set_os_threads},          \
    {"strict", 0, NULL, "every collective synchronises all its ranks", set_strict},                \
    {"memory", 0, NULL, "see every load and store of the program (compiles it for that)", set_memory}
#define REDUCE_ROW(orders) {"reduce-order", 0, "ORDER", "association of reductions: " orders, set_reduce_order}
#define LOADER_ROW {"loader", 0, "KIND", "clone (default), dlopen or shared", set_loader}
#define SHARE_ROW \
    {"share", 0, "LIBRARIES", "libraries whose variables all ranks share, such as 'libx.so,liby*'", set_share}
#define STACK_ROW \
    {"stack-size", 0, "BYTES", "of each rank, such as 256K or 8M (default: 8M up to 256 ranks, then 256K)", set_stack}
#define THREADS_ROW {"threads", 0, "N", "worlds run side by side (default: one per core)", set_workers}
#define CHECK_ROW {"check", 0, "LIST", "only these checks, or all but those with a '-' in front", set_checks}
#define GRADIENT_ROWS \
    {"check-elements", 0, "N", "elements of each input to check (default: up to 1024 in all, fewer of large ones)", \
     set_check_elements},                                                                          \
    {"no-gradients", 0, NULL, "do not check gradients", set_no_gradients}
#define MUTANT_ROW {"mutant", 0, "NAME", "use a known wrong adjoint (see 'simrun mutants')", set_mutant}
#define DATABASE_ROW {"db", 0, "FILE", "database of results, or none (default: ./simrun.db)", set_database}
#define POLICY_ROWS \
    {"allow", 0, "CODE[:SITE]", "a known finding (also a fingerprint, or @FILE of them): TODO, does not fail", \
     add_allow},                                                                                   \
    {"fail-on", 0, "SEVERITY", "error (default), warning or note", set_fail_on},                   \
    {"require", 0, "LIST", "complete, gradients, decided: what is not reached is exit status 6", set_require}
#define TAG_ROW {"tag-output", 0, NULL, "put the rank in front of each line it prints: '[3] text'", set_tag_output}
#define SANDBOX_ROW \
    {"sandbox", 0, NULL, "no network, no writes but in a scratch folder, no processes, bounds", set_sandbox}
#define HELP_ROW {"help", 'h', NULL, "this text", set_help}
#define LAST_ROW {NULL, 0, NULL, NULL, NULL}
/* clang-format on */

const struct option_row run_option_rows[] = {
    RANKS_ROW,
    SEND_ROW,
    {"delivery", 0, "WHEN",
     "when nonblocking receives fill their buffers: early (default), or as late as MPI lets them: "
     "late; rank:R: rank R comes late to its receives",
     set_delivery},
    ORDER_ROW,
    {"seed", 0, "N", "let a pseudo-random stream make every choice", set_seed},
    {"schedule", 0, "CHOICES", "make the choices that 'simrun explore' found to fail",
     set_schedule},
    {"cores", 0, "N",
     "compute on N cores, or on all, from the beginning (default: on all once the ranks compute)",
     set_cores},
    MODE_ROWS,
    REDUCE_ROW("linear, tree, ring or seed"),
    LOADER_ROW,
    SHARE_ROW,
    STACK_ROW,
    {"timeout", 0, "SECONDS", "end a run that has no verdict by then", set_timeout},
    {"stall", 0, "SECONDS", "end a run in which no rank calls MPI for so long (600; 0: never)",
     set_stall},
    {"fault", 0, "LIST",
     "let something go wrong: KIND:RANK@OP[,...], such as crash:1@17 or cut:0-1@3", add_faults},
    {"max-restarts", 0, "N", "start the whole group again, up to N times, when it fails or hangs",
     set_max_restarts},
    {"restart-count", 0, "N", "what $SIMRUN_RESTART_COUNT begins with (default 0)",
     set_restart_count},
    THREADS_ROW,
    STREAMS_ROW,
    CHECK_ROW,
    {"points", 0, "N", "compare gradients at N points: the program's own, beside it, far from it",
     set_points},
    {"repeat", 0, "K", "K more runs, whose gradients may differ by rounding only", set_repeat},
    {"vary", 0, "WHAT", "what they vary: order (of sums), choices or all (default)", set_vary},
    GRADIENT_ROWS,
    MUTANT_ROW,
    {"record", 0, "LEVEL", "none, findings, ops (default) or events", set_record},
    {"record-limit", 0, "BYTES",
     "memory for the record and its checks, such as 2G (default: a quarter of what is free)",
     set_record_limit},
    DATABASE_ROW,
    POLICY_ROWS,
    TAG_ROW,
    SANDBOX_ROW,
    {"wrapper", 0, "CMD", "run simrun itself under CMD, such as 'perf record'", set_wrapper},
    {"gdb", 0, NULL, "run under gdb, following the process of the ranks", set_gdb},
    OUTPUT_ROWS,
    HELP_ROW,
    LAST_ROW,
};

const struct option_row prove_option_rows[] = {
    RANKS_ROW,
    {"budget", 0, "TIME",
     "for each number of ranks, such as 2m "
     "(default: 50s for all of them, less where that would not do)",
     set_budget},
    RUNS_ROW("runs of an exploration after which to stop (default: 1000000)"),
    {"faults", 0, "KIND:1",
     "let every single fault strike in turn: crash:1, drop:1, ...; crash:2: all pairs, too",
     set_sweep},
    ORDER_ROW,
    {"os-threads", 0, NULL, "each rank an OS thread instead of a fiber", set_os_threads},
    REDUCE_ROW("linear, tree, ring or seed"),
    LOADER_ROW,
    STACK_ROW,
    THREADS_ROW,
    STREAMS_ROW,
    CHECK_ROW,
    GRADIENT_ROWS,
    MUTANT_ROW,
    DATABASE_ROW,
    POLICY_ROWS,
    TAG_ROW,
    SANDBOX_ROW,
    OUTPUT_ROWS,
    HELP_ROW,
    LAST_ROW,
};

const struct option_row check_option_rows[] = {
    {"send", 0, "MODEL", "look for danger under eager, rendezvous or batch only (default: all)",
     set_send},
    STREAMS_ROW,
    CHECK_ROW,
    POLICY_ROWS,
    {"db", 0, "FILE", "also keep the result in this database", set_database},
    OUTPUT_ROWS,
    LAST_ROW,
};

const struct option_row explore_option_rows[] = {
    RUNS_ROW("runs after which to stop (default: 1000000, 0: no bound)"),
    RANKS_ROW,
    SEND_ROW,
    ORDER_ROW,
    MODE_ROWS,
    REDUCE_ROW("linear, tree or ring"),
    LOADER_ROW,
    SHARE_ROW,
    STACK_ROW,
    {"timeout", 0, "SECONDS", "stop then, with what was explored", set_timeout},
    THREADS_ROW,
    {"check", 0, "LIST", "of one run of each kind: only these checks, or all but those with '-'",
     set_checks},
    MUTANT_ROW,
    POLICY_ROWS,
    {"db", 0, "FILE", "also keep the result in this database", set_database},
    SANDBOX_ROW,
    OUTPUT_ROWS,
    HELP_ROW,
    LAST_ROW,
};

/* What the name of a picture ends in is asked before anything runs. */
static bool is_picture(const char *path)
{
    static const char *const endings[] = {".dot", ".gv", ".svg", ".png"};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (length > strlen(endings[i]) && !strcmp(path + length - strlen(endings[i]), endings[i]))
            return true;
    return !strcmp(path, "-");
}

bool run_options_agree(const char *command, const struct run_options *options)
{
    if (options->dot && !is_picture(options->dot)) {
        fprintf(stderr, "simrun %s: --dot %s: a picture's name ends in .dot, .gv, .svg or .png\n",
                command, options->dot);
        return false;
    }
    if (options->fault_count && options->record == RECORD_LEVEL_NONE) {
        fprintf(stderr, "simrun %s: --fault counts recorded operations; leave out --record none\n",
                command);
        return false;
    }
    if (options->tap && options->json) {
        fprintf(stderr, "simrun %s: --tap and --json both want stdout; choose one\n", command);
        return false;
    }
    return true;
}

enum severity run_options_threshold(const struct run_options *options)
{
    const char *name = options->fail_on ? options->fail_on : "error";
    return !strcmp(name, "note")      ? SEVERITY_NOTE
           : !strcmp(name, "warning") ? SEVERITY_WARNING
                                      : SEVERITY_ERROR;
}
