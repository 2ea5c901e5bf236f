/* The options of `simrun run`: see run_options.h. */
#include "cli/options/run_options.h"

#include "checker/options.h"
#include "cli/options/ranks.h"
#include "cli/options/schedule.h"
#include "cli/options/suggest.h"
#include "collectives/experiment/mutant.h"
#include "verdict/allow.h"

#include <ctype.h>
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

static bool complain(const char *option, const char *value, const char *wanted)
{
    fprintf(stderr, "simrun: --%s '%s': expected %s\n", option, value, wanted);
    return false;
}

/* Which of the words it is, -1 for none. */
static int word_number(const char *value, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (!strcmp(value, words[i]))
            return i;
    return -1;
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

static bool whole_number(const char *value, unsigned long long *number)
{
    char *end;
    *number = strtoull(value, &end, 0);
    return isdigit((unsigned char)*value) && !*end;
}

/* "65536", "64K", "1M". */
static bool bytes_of(const char *value, size_t *bytes)
{
    char *end;
    unsigned long long number = strtoull(value, &end, 0);
    if (end == value || *value == '-')
        return false;
    if (*end == 'K' || *end == 'k')
        number <<= 10, end++;
    else if (*end == 'M' || *end == 'm')
        number <<= 20, end++;
    else if (*end == 'G' || *end == 'g')
        number <<= 30, end++;
    *bytes = (size_t)number;
    return !*end;
}

static bool set_seed(void *target, const char *value)
{
    struct run_options *options = target;
    unsigned long long number;
    if (!whole_number(value, &number))
        return complain("seed", value, "a whole number");
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
        if (value[5] == ':' && bytes_of(value + 6, &options->world.eager_limit))
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
    return complain("send", value, "eager, eager:BYTES, eager:unlimited, rendezvous, batch or all");
}

static bool set_streams(void *target, const char *value)
{
    struct run_options *options = target;
    bool each = !strcmp(value, "communicator");
    options->streams = each ? STREAMS_COMMUNICATOR : STREAMS_DEVICE;
    return each || !strcmp(value, "device") || complain("streams", value, "communicator or device");
}

static bool set_delivery(void *target, const char *value)
{
    struct run_options *options = target;
    char other[] = "x", *end = other;
    options->world.late_receives = !strcmp(value, "late");
    options->world.late_rank = 0;
    if (!strncmp(value, "rank:", 5) && isdigit((unsigned char)value[5]))
        options->world.late_rank = 1 + (int)strtol(value + 5, &end, 10);
    return options->world.late_receives || !strcmp(value, "early") || !*end ||
           complain("delivery", value, "early, late or rank:R");
}

static bool set_order(void *target, const char *value)
{
    int order = word_number(value, run_option_orders);
    ((struct run_options *)target)->order = order;
    return order >= 0 || complain("order", value, "program or data");
}

static bool set_loader(void *target, const char *value)
{
    int loader = word_number(value, run_option_loaders);
    if (loader >= 0)
        ((struct run_options *)target)->loader = (enum sim_loader)loader;
    return loader >= 0 || complain("loader", value, "clone, dlopen or shared");
}

static bool set_reduce_order(void *target, const char *value)
{
    int order = word_number(value, run_option_reduce_orders);
    if (order >= 0)
        ((struct run_options *)target)->world.reduce_order = (enum sim_reduce_order)order;
    return order >= 0 || complain("reduce-order", value, "linear, tree, ring or seed");
}

static bool set_stack(void *target, const char *value)
{
    struct run_options *options = target;
    if (bytes_of(value, &options->world.stack_size) && options->world.stack_size >= 16384)
        return true;
    return complain("stack-size", value, "at least 16K");
}

static bool set_record_limit(void *target, const char *value)
{
    struct run_options *options = target;
    if (bytes_of(value, &options->record_limit) && options->record_limit >= (size_t)16 << 20)
        return true;
    return complain("record-limit", value, "at least 16M");
}

static bool set_stall(void *target, const char *value)
{
    struct run_options *options = target;
    char *end;
    options->stall = strtod(value, &end);
    if (*value && !*end && options->stall >= 0)
        return true;
    return complain("stall", value, "a number of seconds, or 0");
}

static bool set_timeout(void *target, const char *value)
{
    struct run_options *options = target;
    char *end;
    options->timeout = strtod(value, &end);
    if (*value && !*end && options->timeout > 0)
        return true;
    return complain("timeout", value, "a number of seconds above 0");
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
    return complain("budget", value, "a time such as 60s or 2m");
}

static bool number_between(const char *value, int least, int most, int *target)
{
    unsigned long long number;
    if (!whole_number(value, &number) || number < (unsigned)least || number > (unsigned)most)
        return false;
    *target = (int)number;
    return true;
}

/* A setter of a number between two bounds. */
#define NUMBER(setter, option, field, least, most)                                                 \
    static bool setter(void *target, const char *value)                                            \
    {                                                                                              \
        return number_between(value, least, most, &((struct run_options *)target)->field) ||       \
               complain(option, value, "a number from " #least " to " #most);                      \
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
    if (!whole_number(value, &number) || !number)
        return complain("check-elements", value, "a number above 0");
    options->check_elements = number;
    return true;
}

static bool set_vary(void *target, const char *value)
{
    int vary = word_number(value, run_option_varies);
    if (vary >= 0)
        ((struct run_options *)target)->vary = (enum vary)vary;
    return vary >= 0 || complain("vary", value, "order, choices or all");
}

static bool set_record(void *target, const char *value)
{
    int level = word_number(value, run_option_levels);
    if (level >= 0)
        ((struct run_options *)target)->record = (enum record_level)level;
    return level >= 0 || complain("record", value, "none, findings, ops or events");
}

static bool set_fail_on(void *target, const char *value)
{
    static const char *const severities[] = {"error", "warning", "note", NULL};
    ((struct run_options *)target)->fail_on = value;
    return word_number(value, severities) >= 0 ||
           complain("fail-on", value, "error, warning or note");
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
    if (!whole_number(value, &number))
        return complain("runs", value, "a number, 0 for no bound");
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
        return complain("faults", value,
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
           complain("require", value, "complete, gradients, decided, or several with commas");
}

static bool set_color(void *target, const char *value)
{
    static const char *const words[] = {"auto", "always", "never", NULL};
    ((struct run_options *)target)->color = value;
    return word_number(value, words) >= 0 || complain("color", value, "auto, always or never");
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
        return complain("allow", value, "at most 64 of them");
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
    char *end = NULL;
    bool all = !strcmp(value, "all");
    long cores = all ? 0 : strtol(value, &end, 10);
    options->world.wide = cores == 1 ? SIM_WIDE_NEVER : SIM_WIDE_AT_ONCE;
    options->world.cores = (int)cores;
    return all || (cores >= 1 && cores <= CPU_SETSIZE && !*end) ||
           complain("cores", value, "a number from 1 on, or all");
}

/* What run and check have in common. */
/* clang-format off */
#define OUTPUT_ROWS \
    {"tap", 0, NULL, "TAP 13 on stdout", set_tap},                                                 \
    {"json", 0, NULL, "one JSON object per run on stdout", set_json},                              \
    {"junit", 0, "FILE", "also write JUnit XML", set_junit},                                       \
    {"html", 0, "FILE", "also write an HTML report of all runs", set_html},                        \
    {"sarif", 0, "FILE", "also write SARIF 2.1.0 for code scanning", set_sarif},                    \
    {"dot", 0, "FILE", "also draw the run: .dot, .svg or .png", set_dot},                          \
    {"chrome", 0, "FILE", "also write a timeline for Perfetto", set_chrome},                       \
    {"github", 0, NULL, "also write GitHub annotations and a step summary", set_github},           \
    {"color", 0, "WHEN", "auto (default), always or never", set_color},                            \
    {"quiet", 'q', NULL, "only verdicts and what fails", set_quiet},                               \
    {"verbose", 'v', NULL, "more: every gradient comparison in full", set_verbose}
/* clang-format on */

const struct option_row run_option_rows[] = {
    {"ranks", 'n', "LIST", "numbers of ranks: 16, 2,3,5,7 or 2..8 (default: the scenario's)",
     set_ranks},
    {"send", 0, "MODEL", "eager[:BYTES|:unlimited], rendezvous, batch or all", set_send},
    {"delivery", 0, "WHEN",
     "when nonblocking receives fill their buffers: early (default), or as late as MPI lets them: "
     "late; rank:R: rank R comes late to its receives",
     set_delivery},
    {"order", 0, "ORDER", "order of backward passes: program or data", set_order},
    {"seed", 0, "N", "let a pseudo-random stream make every choice", set_seed},
    {"schedule", 0, "CHOICES", "make the choices that 'simrun explore' found to fail",
     set_schedule},
    {"cores", 0, "N",
     "compute on N cores, or on all, from the beginning (default: on all once the ranks compute)",
     set_cores},
    {"os-threads", 0, NULL, "each rank an OS thread instead of a fiber", set_os_threads},
    {"strict", 0, NULL, "every collective synchronises all its ranks", set_strict},
    {"memory", 0, NULL, "see every load and store of the program (compiles it for that)",
     set_memory},
    {"reduce-order", 0, "ORDER", "association of reductions: linear, tree, ring or seed",
     set_reduce_order},
    {"loader", 0, "KIND", "clone (default), dlopen or shared", set_loader},
    {"share", 0, "LIBRARIES", "libraries whose variables all ranks share, such as 'libx.so,liby*'",
     set_share},
    {"stack-size", 0, "BYTES",
     "of each rank, such as 256K or 8M (default: 8M up to 256 ranks, then 256K)", set_stack},
    {"timeout", 0, "SECONDS", "end a run that has no verdict by then", set_timeout},
    {"stall", 0, "SECONDS", "end a run in which no rank calls MPI for so long (600; 0: never)",
     set_stall},
    {"fault", 0, "LIST",
     "let something go wrong: KIND:RANK@OP[,...], such as crash:1@17 or cut:0-1@3", add_faults},
    {"max-restarts", 0, "N", "start the whole group again, up to N times, when it fails or hangs",
     set_max_restarts},
    {"restart-count", 0, "N", "what $SIMRUN_RESTART_COUNT begins with (default 0)",
     set_restart_count},
    {"threads", 0, "N", "worlds run side by side (default: one per core)", set_workers},
    {"streams", 0, "WHICH",
     "communication runs on a GPU's streams: of each communicator, or one of the device",
     set_streams},
    {"check", 0, "LIST", "only these checks, or all but those with a '-' in front", set_checks},
    {"check-elements", 0, "N",
     "elements of each input to check (default: up to 1024 in all, "
     "fewer of large ones)",
     set_check_elements},
    {"points", 0, "N", "compare gradients at N points: the program's own, beside it, far from it",
     set_points},
    {"repeat", 0, "K", "K more runs, whose gradients may differ by rounding only", set_repeat},
    {"vary", 0, "WHAT", "what they vary: order (of sums), choices or all (default)", set_vary},
    {"no-gradients", 0, NULL, "do not check gradients", set_no_gradients},
    {"mutant", 0, "NAME", "use a known wrong adjoint (see 'simrun mutants')", set_mutant},
    {"record", 0, "LEVEL", "none, findings, ops (default) or events", set_record},
    {"record-limit", 0, "BYTES",
     "memory for the record and its checks, such as 2G (default: a quarter of what is free)",
     set_record_limit},
    {"db", 0, "FILE", "database of results, or none (default: ./simrun.db)", set_database},
    {"allow", 0, "CODE[:SITE]",
     "a known finding (also a fingerprint, or @FILE of them): TODO, does not fail", add_allow},
    {"fail-on", 0, "SEVERITY", "error (default), warning or note", set_fail_on},
    {"require", 0, "LIST", "complete, gradients, decided: what is not reached is exit status 6",
     set_require},
    {"tag-output", 0, NULL, "put the rank in front of each line it prints: '[3] text'",
     set_tag_output},
    {"sandbox", 0, NULL, "no network, no writes but in a scratch folder, no processes, bounds",
     set_sandbox},
    {"wrapper", 0, "CMD", "run simrun itself under CMD, such as 'perf record'", set_wrapper},
    {"gdb", 0, NULL, "run under gdb, following the process of the ranks", set_gdb},
    OUTPUT_ROWS,
    {"help", 'h', NULL, "this text", set_help},
    {NULL, 0, NULL, NULL, NULL},
};

const struct option_row prove_option_rows[] = {
    {"ranks", 'n', "LIST", "numbers of ranks: 16, 2,3,5,7 or 2..8 (default: the scenario's)",
     set_ranks},
    {"budget", 0, "TIME",
     "for each number of ranks, such as 2m "
     "(default: 50s for all of them, less where that would not do)",
     set_budget},
    {"runs", 0, "MOST", "runs of an exploration after which to stop (default: 1000000)", set_runs},
    {"faults", 0, "KIND:1",
     "let every single fault strike in turn: crash:1, drop:1, ...; crash:2: all pairs, too",
     set_sweep},
    {"order", 0, "ORDER", "order of backward passes: program or data", set_order},
    {"os-threads", 0, NULL, "each rank an OS thread instead of a fiber", set_os_threads},
    {"reduce-order", 0, "ORDER", "association of reductions: linear, tree, ring or seed",
     set_reduce_order},
    {"loader", 0, "KIND", "clone (default), dlopen or shared", set_loader},
    {"stack-size", 0, "BYTES", "of each rank, such as 256K or 8M", set_stack},
    {"threads", 0, "N", "worlds run side by side (default: one per core)", set_workers},
    {"streams", 0, "WHICH",
     "communication runs on a GPU's streams: of each communicator, or one of the device",
     set_streams},
    {"check", 0, "LIST", "only these checks, or all but those with a '-' in front", set_checks},
    {"check-elements", 0, "N", "elements of each input to check", set_check_elements},
    {"no-gradients", 0, NULL, "do not check gradients", set_no_gradients},
    {"mutant", 0, "NAME", "use a known wrong adjoint (see 'simrun mutants')", set_mutant},
    {"db", 0, "FILE", "database of results, or none (default: ./simrun.db)", set_database},
    {"allow", 0, "CODE[:SITE]",
     "a known finding (also a fingerprint, or @FILE of them): TODO, does not fail", add_allow},
    {"fail-on", 0, "SEVERITY", "error (default), warning or note", set_fail_on},
    {"require", 0, "LIST", "complete, gradients, decided: what is not reached is exit status 6",
     set_require},
    {"tag-output", 0, NULL, "put the rank in front of each line it prints: '[3] text'",
     set_tag_output},
    {"sandbox", 0, NULL, "no network, no writes but in a scratch folder, no processes, bounds",
     set_sandbox},
    OUTPUT_ROWS,
    {"help", 'h', NULL, "this text", set_help},
    {NULL, 0, NULL, NULL, NULL},
};

const struct option_row check_option_rows[] = {
    {"send", 0, "MODEL", "look for danger under eager, rendezvous or batch only (default: all)",
     set_send},
    {"streams", 0, "WHICH",
     "communication runs on a GPU's streams: of each communicator, or one of the device",
     set_streams},
    {"check", 0, "LIST", "only these checks, or all but those with a '-' in front", set_checks},
    {"allow", 0, "CODE[:SITE]",
     "a known finding (also a fingerprint, or @FILE of them): TODO, does not fail", add_allow},
    {"fail-on", 0, "SEVERITY", "error (default), warning or note", set_fail_on},
    {"require", 0, "LIST", "complete, gradients, decided: what is not reached is exit status 6",
     set_require},
    {"db", 0, "FILE", "also keep the result in this database", set_database},
    OUTPUT_ROWS,
    {NULL, 0, NULL, NULL, NULL},
};

const struct option_row explore_option_rows[] = {
    {"runs", 0, "MOST", "runs after which to stop (default: 1000000, 0: no bound)", set_runs},
    {"ranks", 'n', "N", "numbers of ranks: 3 or 2..4 (default: the scenario's)", set_ranks},
    {"send", 0, "MODEL", "eager[:BYTES|:unlimited], rendezvous, batch or all", set_send},
    {"order", 0, "ORDER", "order of backward passes: program or data", set_order},
    {"os-threads", 0, NULL, "each rank an OS thread instead of a fiber", set_os_threads},
    {"strict", 0, NULL, "every collective synchronises all its ranks", set_strict},
    {"memory", 0, NULL, "see every load and store of the program (compiles it for that)",
     set_memory},
    {"reduce-order", 0, "ORDER", "association of reductions: linear, tree or ring",
     set_reduce_order},
    {"loader", 0, "KIND", "clone (default), dlopen or shared", set_loader},
    {"share", 0, "LIBRARIES", "libraries whose variables all ranks share, such as 'libx.so,liby*'",
     set_share},
    {"stack-size", 0, "BYTES", "of each rank, such as 256K or 8M", set_stack},
    {"timeout", 0, "SECONDS", "stop then, with what was explored", set_timeout},
    {"threads", 0, "N", "worlds run side by side (default: one per core)", set_workers},
    {"check", 0, "LIST", "of one run of each kind: only these checks, or all but those with '-'",
     set_checks},
    {"mutant", 0, "NAME", "use a known wrong adjoint (see 'simrun mutants')", set_mutant},
    {"allow", 0, "CODE[:SITE]",
     "a known finding (also a fingerprint, or @FILE of them): does not fail", add_allow},
    {"fail-on", 0, "SEVERITY", "error (default), warning or note", set_fail_on},
    {"require", 0, "LIST", "complete, gradients, decided: what is not reached is exit status 6",
     set_require},
    {"db", 0, "FILE", "also keep the result in this database", set_database},
    {"sandbox", 0, NULL, "no network, no writes but in a scratch folder, no processes, bounds",
     set_sandbox},
    OUTPUT_ROWS,
    {"help", 'h', NULL, "this text", set_help},
    {NULL, 0, NULL, NULL, NULL},
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
