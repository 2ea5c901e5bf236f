#include "checker/check.h"

#include "checker/context.h"
#include "checker/properties.h"
#include "checker/suppress.h"

#include <stdio.h>
#include <string.h>

static const struct check_property properties[] = {
    {"notes", check_notes,
     "G005 G006 G007 G008 B001 B002 B003 B004 B005 B006 L001 L003 L004 L005 L006 L007 L010 L011 "
     "M009 M011 "
     "S004 U001 U002 X004 X010 X011 "
     "X005",
     "what the program or the machine itself found wrong while it ran"},
    {"crash", check_crash, "X001 X002 X003 X006 X007 X008 X009",
     "crashes, aborts, time limits, finalizing with work pending"},
    {"deadlock", check_deadlock, "D001 D005",
     "this run hung: who waits for whom, and which pair is at fault"},
    {"collective", check_collective, "M001 M002 M003 M004 M005 M006 M010 R002 R005",
     "ranks that disagree about a collective, or do not take part"},
    {"p2p", check_p2p, "M007 M008 R005", "messages that do not fit their receives"},
    {"gradient", check_gradient, "G001 G006", "gradients that finite differences contradict"},
    {"activity", check_activity, "G002 G003 G004",
     "communication that the backward pass leaves out on some ranks or on all"},
    {"leaks", check_leaks, "L001 L002 L009", "requests and messages left over"},
    {"order", check_order, "D002 R001 R002 N001",
     "all legal orders of the backward passes: what can hang, what can cross"},
    {"transpose", check_transpose, "R004",
     "backward messages that do not go the way the forward messages came"},
    {"race", check_race, "R003 N001", "wildcard receives with more than one possible sender"},
    {"buffers", check_buffers, "B001 B002 N001",
     "buffers touched while an operation on them is under way"},
    {"windows", check_windows, "B003", "accesses to the memory of windows that nothing orders"},
    {"staleness", check_staleness, "S001",
     "parameter servers that apply gradients older than their bound"},
    {"updates", check_updates, "S002",
     "parameter servers that lose an update: sent is applied plus in flight"},
    {"replicas", check_replicas, "S003", "replicas of parameters that differ after a step"},
    {"remote", check_remote, "A001 A002 A003 A004 A005 A006 A007 A009 A010 A011 A012 A013",
     "the protocol of remote calls and distributed autograd"},
    {"models", check_models, "D002 D003 D004",
     "the same order under other progress models and synchronising collectives"},
    {"threads", check_threads, "R001 R002",
     "threads of a rank that use one communicator without an order"},
    {"matches", check_matches, "D002 D003 R003 N001",
     "an imported plan's orders and what its wildcards take, together"},
    {"device", check_device, "D002",
     "operations issued to the streams of a device, where that is declared"},
};

enum { PROPERTY_COUNT = sizeof properties / sizeof *properties };

const struct check_property *check_property_at(size_t index)
{
    return index < PROPERTY_COUNT ? &properties[index] : NULL;
}

static uint64_t bits_of(const char *name, size_t length)
{
    if (length == 3 && strncmp(name, "all", 3) == 0)
        return UINT64_MAX;
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        if (strlen(properties[i].name) == length && strncmp(properties[i].name, name, length) == 0)
            return UINT64_C(1) << i;
    return 0;
}

static int unknown_check(const char *word, size_t length, struct failure *failure)
{
    char names[400];
    return failure_set(failure, FAILURE_USAGE, "no check is named '%.*s'; there are: %s, all",
                       (int)length, word, check_names(names, sizeof names));
}

char *check_names(char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (size_t i = 0; i < PROPERTY_COUNT && used < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", properties[i].name);
    return text;
}

int check_options_parse(struct check_options *options, const char *list, struct failure *failure)
{
    uint64_t checks = list[0] == '-' ? UINT64_MAX : 0;
    for (const char *word = list; *word; word += *word == ',') {
        bool minus = *word == '-';
        word += minus;
        size_t length = strcspn(word, ",");
        uint64_t bits = bits_of(word, length);
        if (!bits)
            return unknown_check(word, length, failure);
        checks = minus ? checks & ~bits : checks | bits;
        word += length;
    }
    options->checks = checks;
    return FAILURE_NONE;
}

/* Checks and models that were switched off. */
static void tell_off(const struct trace *trace, const struct check_options *options)
{
    char names[400] = "", models[64];
    size_t used = 0;
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        if (!(options->checks >> i & 1) && used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, " %s", properties[i].name);
    if (used)
        trace_gap(trace, "run", 1, "checks that were switched off:%s", names);
    unsigned left_out = CHECK_ALL_MODELS & ~options->models;
    if (left_out)
        trace_gap(trace, "run", 1, "danger under the progress models %s",
                  check_models_text(left_out, models, sizeof models));
}

static bool is_disturbed(const struct trace *trace)
{
    for (size_t i = 0; i < trace->note_count; i++)
        if (strcmp(trace->notes[i].code, "X010") == 0)
            return true;
    return false;
}

static bool has_lost_rank(const struct trace *trace)
{
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        if (!trace->rank_info[rank].finalized)
            return true;
    return false;
}

/* The program was told of a failed rank, or of a revoked communicator, and went on: the classes are
 * those of mpi-ext.h. Or the living have shrunk a communicator, or agreed, without being told. */
static bool has_survived(const struct trace *trace)
{
    enum { PROC_FAILED = 101, REVOKED = 103 };
    bool lost = has_lost_rank(trace);
    if (!lost && !trace_has_error(trace, PROC_FAILED, REVOKED))
        return false; /* without a look at all operations */
    for (size_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        bool of_living = op->kind == OP_COMM_SHRINK || op->kind == OP_COMM_AGREE;
        if ((op->form->error >= PROC_FAILED && op->form->error <= REVOKED) ||
            (lost && of_living && op->state == STATE_COMPLETE))
            return true;
    }
    return false;
}

/* In a run with an injected fault operations end as they can: what it says is whether the program
 * came through, and its values. Orders, matches and leaks are judged without the fault. */
static bool is_without_orders(const struct trace *trace)
{
    return is_disturbed(trace) || has_survived(trace);
}

static uint64_t kept_of(uint64_t checks, bool without_orders)
{
    struct check_options kept = {0};
    struct failure failure = {0};
    if (!without_orders)
        return checks & (PROPERTY_COUNT < 64 ? (UINT64_C(1) << PROPERTY_COUNT) - 1 : UINT64_MAX);
    check_options_parse(&kept, "notes,crash,deadlock,gradient", &failure);
    return checks & kept.checks;
}

uint64_t check_kept(const struct trace *trace, const struct check_options *options)
{
    return kept_of(options->checks, is_without_orders(trace));
}

void check_each(const struct trace *trace, const struct check_options *wanted,
                struct findings *findings, check_told *told, void *told_context)
{
    struct check_context context;
    struct check_options options = *wanted;
    bool without_orders = is_without_orders(trace);
    uint64_t done = 0;
    tell_off(trace, wanted);
    options.checks = kept_of(wanted->checks, without_orders);
    if (without_orders)
        trace_gap(trace, "run", 1,
                  is_disturbed(trace)
                      ? "orders, matches and leaks of a run with an injected fault (a run without "
                        "it is judged)"
                      : "orders, matches and leaks of a run that went on after a failure");
    check_context_init(&context, trace, &options);
    for (size_t i = 0; i < PROPERTY_COUNT; i++) {
        if (!(options.checks >> i & 1))
            continue;
        properties[i].run(&context, findings);
        done |= UINT64_C(1) << i;
        if (told)
            told(told_context, done, findings);
    }
    check_context_release(&context);
}

void check_finish(const struct trace *trace, size_t first, struct findings *findings)
{
    suppress_consequences(findings, first, trace);
    findings_sort(findings);
}

void check_trace(const struct trace *trace, const struct check_options *options,
                 struct findings *findings)
{
    size_t first = findings->count;
    check_each(trace, options, findings, NULL, NULL);
    check_finish(trace, first, findings);
}
