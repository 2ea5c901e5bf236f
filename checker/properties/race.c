/* R003: a wildcard receive with more than one possible sender.
 *
 * Another message could have come instead if it was still to be received, is the first of its
 * sender that fits, and was not sent because of the receive (vector clocks, one component per rank
 * that has wildcard receives, along what the data flow of the run forces, along post, start,
 * complete and wait of windows, and along the order in which threads of a rank were seen: what orders
 * them, a join or a lock, is not recorded, so that order by chance is not told from order by intent,
 * and no finding is made of it). One finding per place.
 */
#include "checker/memory.h"
#include "checker/places.h"
#include "checker/properties.h"
#include "checker/replay/inbox.h"
#include "checker/replay/replay.h"
#include "checker/replay/witness.h"

#include <stdlib.h>
#include <string.h>

enum { EXCHANGE_OPS_MAX = 100000 };
/* Clock values kept at once; beyond, the search is left out rather than the memory filled. */
static const size_t clock_values_max = (size_t)1 << 28;

struct race {
    const struct check_context *context;
    const struct trace *trace;
    uint32_t width;      /* ranks with wildcard receives */
    uint32_t *column;    /* per rank, TRACE_NO */
    uint32_t *clocks;    /* ranks rows of width */
    uint32_t **sent;     /* per send and scan: the clock when it was posted; of a scan that is
                            complete, what it gets from the ranks below */
    uint32_t **gathered; /* per group: what its members bring */
    uint32_t *stamp;     /* per op: its receive completed as the n-th of its rank, from 1 */
    struct check_syncs syncs;
    uint32_t **known; /* per sync: what is learnt */
};

static bool is_wildcard(const struct trace_op *op)
{
    return op->peer == TRACE_ANY && check_class(op) == CLASS_RECEIVE && op->match != TRACE_NO;
}

/* A communicator named "...: any order" says that its receivers make the same of every order of
 * arrival: then a race is no finding. Exploring the program shows whether it is so. */
static bool order_is_free(const struct trace *trace, const struct trace_op *op)
{
    static const char said[] = ": any order";
    if (op->form->comm == TRACE_NO)
        return false;
    const char *name = trace->comms[op->form->comm].name;
    size_t length = strlen(name);
    return length >= sizeof said - 1 && !strcmp(name + length - (sizeof said - 1), said);
}

static void join(uint32_t *into, const uint32_t *from, uint32_t width)
{
    for (uint32_t i = 0; i < width; i++)
        into[i] = from[i] > into[i] ? from[i] : into[i];
}

static uint32_t *clock_of(struct race *race, uint32_t rank)
{
    return race->clocks + (size_t)rank * race->width;
}

static void receive(struct race *race, uint32_t op)
{
    const struct trace_op *receive = &race->trace->ops[op];
    uint32_t *clock = clock_of(race, receive->rank);
    if (receive->match != TRACE_NO && race->sent[receive->match])
        join(clock, race->sent[receive->match], race->width);
    if (is_wildcard(receive) && !race->stamp[op])
        race->stamp[op] = ++clock[race->column[receive->rank]];
}

/* Whose data everybody gets: the root's alone, or everybody's. */
static bool brings(const struct trace_op *op)
{
    bool from_root = op->kind == OP_BCAST || op->kind == OP_SCATTER || op->kind == OP_SCATTERV;
    return !from_root || op->peer == (int32_t)op->rank;
}

static bool takes(const struct trace_op *op)
{
    bool to_root = op->kind == OP_REDUCE || op->kind == OP_GATHER || op->kind == OP_GATHERV;
    return !to_root || op->peer == (int32_t)op->rank;
}

/* Everybody gets what the ranks below bring, and nobody else. */
static bool is_scan(const struct trace_op *op)
{
    return op->kind == OP_SCAN || op->kind == OP_EXSCAN;
}

/* All calls of the scan are posted: from each one's clock to what those below it bring. */
static void spread_upwards(struct race *race, uint32_t number)
{
    const struct trace *trace = race->trace;
    const struct check_group *group = &race->context->groups[number];
    uint32_t *call_of = check_new(trace->ranks, sizeof *call_of);
    uint32_t *own = check_new(race->width, sizeof *own);
    uint32_t *below = race->gathered[number] = check_new(race->width, sizeof *below);
    memset(call_of, 0xff, trace->ranks * sizeof *call_of);
    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t op = race->context->group_ops[group->first + i];
        call_of[trace->ops[op].rank] = op;
    }
    for (uint32_t i = 0; i < check_comm_size(trace, group->comm); i++) {
        uint32_t op = call_of[check_comm_member(trace, group->comm, i)];
        if (op == TRACE_NO || !race->sent[op])
            continue;
        memcpy(own, race->sent[op], race->width * sizeof *own);
        memcpy(race->sent[op], below, race->width * sizeof *below);
        join(below, own, race->width);
    }
    free(call_of);
    free(own);
}

static void post(struct race *race, uint32_t op)
{
    const struct trace_op *at = &race->trace->ops[op];
    uint32_t group = check_group_of(race->context, op);
    if (check_class(at) == CLASS_SEND || is_scan(at)) {
        race->sent[op] = check_new(race->width, sizeof **race->sent);
        memcpy(race->sent[op], clock_of(race, at->rank), race->width * sizeof **race->sent);
    }
    if (group == TRACE_NO || !brings(at) || is_scan(at))
        return;
    if (!race->gathered[group])
        race->gathered[group] = check_new(race->width, sizeof **race->gathered);
    join(race->gathered[group], clock_of(race, at->rank), race->width);
}

static void complete(struct race *race, uint32_t op)
{
    const struct trace_op *at = &race->trace->ops[op];
    uint32_t group = check_group_of(race->context, op);
    if (check_class(at) == CLASS_RECEIVE)
        receive(race, op);
    if (group != TRACE_NO && is_scan(at) && race->sent[op]) {
        if (!race->gathered[group])
            spread_upwards(race, group);
        join(clock_of(race, at->rank), race->sent[op], race->width);
    } else if (group != TRACE_NO && takes(at) && race->gathered[group])
        join(clock_of(race, at->rank), race->gathered[group], race->width);
}

/* ---- what windows order ---- */

/* Before `op`: others will learn what its rank knows by now, and it learns. */
static void learn(struct race *race, uint32_t op)
{
    const struct check_syncs *syncs = &race->syncs;
    uint32_t *clock = clock_of(race, race->trace->ops[op].rank);
    for (size_t i = check_syncs_first(syncs, op); i < syncs->count && syncs->items[i].op == op; i++)
        if (race->known[i])
            join(clock, race->known[i], race->width);
    for (size_t i = check_syncs_first_of(syncs, op);
         i < syncs->count && syncs->items[syncs->by_source[i]].source == op; i++) {
        uint32_t **known = &race->known[syncs->by_source[i]];
        if (*known)
            continue;
        *known = check_new(race->width, sizeof **known);
        memcpy(*known, clock, race->width * sizeof **known);
    }
}

static void complete_requests(struct race *race, uint32_t op)
{
    size_t count = trace_op_requests(race->trace, op, NULL, 0);
    uint32_t *starts = check_new(count, sizeof *starts);
    count = trace_op_requests(race->trace, op, starts, count);
    for (size_t i = 0; i < count; i++)
        if (starts[i] < race->trace->op_count && race->trace->ops[starts[i]].request == op)
            complete(race, starts[i]);
    free(starts);
}

static void observe(void *context, uint32_t op, bool passed)
{
    struct race *race = context;
    const struct trace_op *at = &race->trace->ops[op];
    learn(race, op);
    if (!passed)
        post(race, op);
    else if (op_kind_class(at->kind) == CLASS_WAIT)
        complete_requests(race, op);
    else if (!check_is_start(at))
        complete(race, op);
}

/* ---- candidates ---- */

/* The send happened because the receive was complete. */
static bool is_after(const struct race *race, uint32_t send, uint32_t receive)
{
    uint32_t column = race->column[race->trace->ops[receive].rank];
    return race->stamp[receive] && race->sent[send] &&
           race->sent[send][column] >= race->stamp[receive];
}

/* What a plan is taken to match may be what cannot happen: of a message that is then never sent
 * nothing is known. Orders and matches of plans are searched together elsewhere. */
static bool is_known(const struct race *race, uint32_t send)
{
    return race->trace->outcome != OUTCOME_IMPORTED || race->sent[send];
}

/* The plan gets so far that the receive is complete. */
static bool is_decided(const struct race *race, uint32_t receive)
{
    return race->trace->outcome != OUTCOME_IMPORTED || race->stamp[receive];
}

/* The message that the receive is taken to get was sent because one that fits, too, was received by
 * a later receive: no plan comes so far, the first one would have got it. */
static bool is_contradiction(const struct race *race, uint32_t receive, uint32_t other)
{
    uint32_t taker = race->trace->ops[other].match;
    return race->trace->outcome == OUTCOME_IMPORTED && taker != TRACE_NO && taker > receive &&
           is_wildcard(&race->trace->ops[taker]) &&
           is_after(race, race->trace->ops[receive].match, taker);
}

/* The first message of each sender stands for it. */
static uint32_t other_sender(const struct race *race, struct inbox *inbox, uint32_t receive)
{
    const struct trace *trace = race->trace;
    uint32_t own = trace->ops[trace->ops[receive].match].rank;
    for (size_t at = inbox_first(inbox, receive); at != SIZE_MAX; at = inbox_next(inbox, at)) {
        uint32_t send = inbox_head(inbox, at, receive);
        if (send != TRACE_NO && is_contradiction(race, receive, send))
            return TRACE_NO;
        if (send != TRACE_NO && trace->ops[send].rank != own && is_known(race, send) &&
            !is_after(race, send, receive))
            return send;
    }
    return TRACE_NO;
}

/* The progress model of the run: what another message first leads to is asked under the same. */
static enum check_model model_of(const struct trace *trace)
{
    for (unsigned model = CHECK_EAGER; model <= CHECK_BATCH; model <<= 1)
        if (!strcmp(trace->model, check_model_name((enum check_model)model)))
            return (enum check_model)model;
    return CHECK_EAGER;
}

/* The rank receives by a further wildcard, which may take what is left over. */
static bool others_choose(const struct trace *trace, uint32_t receive, uint32_t taker)
{
    size_t end = trace->rank_begin[trace->ops[receive].rank + 1];
    for (uint32_t op = receive + 1; op < end; op++)
        if (op != taker && trace->ops[op].peer == TRACE_ANY)
            return true;
    return false;
}

/* The same program text with the two messages exchanged: whoever took the other one by wildcard
 * takes this one. Whether the program would still do the same is for a real run to say. */
static bool exchange_hangs(const struct race *race, uint32_t receive, uint32_t other)
{
    const struct trace *trace = race->trace;
    struct plan_choice choices[2] = {{.receive = receive, .source = trace->ops[other].rank}};
    uint32_t taker = trace->ops[other].match;
    size_t count = 1;
    if (taker != TRACE_NO && is_wildcard(&trace->ops[taker]))
        choices[count++] = (struct plan_choice){
            .receive = taker, .source = trace->ops[trace->ops[receive].match].rank};
    struct check_plan plan;
    struct check_replay replay;
    check_plan_init(&plan, race->context,
                    &(struct plan_options){.choices = choices,
                                           .choice_count = count,
                                           .lost_receives = !others_choose(trace, receive, taker)});
    check_replay_run(&plan, model_of(trace), &replay);
    bool hangs = check_replay_hangs(&replay);
    check_replay_release(&replay);
    check_plan_release(&plan);
    return hangs;
}

static void report(const struct race *race, uint32_t receive, uint32_t other,
                   struct findings *findings)
{
    const struct trace *trace = race->trace;
    uint32_t match = trace->ops[receive].match;
    char one[PLACE_TEXT];
    bool alike = check_same_signature(&trace->ops[match], &trace->ops[other]);
    struct finding *finding =
        findings_add(findings, "R003", "more than one message can come first: %s",
                     check_short_place(trace, receive, one, sizeof one));
    finding_detail(finding, "%s took ", check_place(trace, receive, one, sizeof one));
    finding_detail(finding, "%s; ", check_place(trace, match, one, sizeof one));
    finding_detail(finding, "%s could have come instead.\n",
                   check_place(trace, other, one, sizeof one));
    finding_detail(finding,
                   alike ? "Both have the same size and type: only their values differ.\n"
                         : "They differ in size or type: the program goes on differently.\n");
    if (trace->op_count <= EXCHANGE_OPS_MAX && exchange_hangs(race, receive, other))
        finding_detail(finding, "If the program went on as recorded, that would hang (D002); "
                                "'simrun explore' tries every other match.\n");
    finding_op_add(finding, receive, "culprit");
    finding_op_add(finding, match, "partner");
    finding_op_add(finding, other, "partner");
    finding->witness = check_witness_text(
        trace, "R003", model_of(trace), NULL,
        &(struct plan_choice){.receive = receive, .source = trace->ops[other].rank}, 1);
    finding_seal(finding, trace);
}

static void judge(const struct race *race, struct findings *findings)
{
    const struct trace *trace = race->trace;
    size_t first = findings->count;
    struct inbox of_tag, of_any;
    inbox_init(&of_tag, trace, race->column, true);
    inbox_init(&of_any, trace, race->column, false);
    for (uint32_t op = 0; op < trace->op_count; op++) {
        if (!is_wildcard(&trace->ops[op]) || order_is_free(trace, &trace->ops[op]) ||
            check_at_place(findings, first, "R003", trace, op) || !is_decided(race, op))
            continue;
        bool any = trace->ops[op].tag == TRACE_ANY;
        uint32_t other = other_sender(race, any ? &of_any : &of_tag, op);
        if (other != TRACE_NO)
            report(race, op, other, findings);
    }
    inbox_release(&of_tag);
    inbox_release(&of_any);
}

/* False where the clocks would need more memory than they may. */
static bool race_init(struct race *race, const struct check_context *context)
{
    const struct trace *trace = context->trace;
    size_t sends = 0;
    *race = (struct race){.context = context, .trace = trace};
    race->column = check_new(trace->ranks, sizeof *race->column);
    memset(race->column, 0xff, trace->ranks * sizeof *race->column);
    for (size_t op = 0; op < trace->op_count; op++) {
        sends += check_class(&trace->ops[op]) == CLASS_SEND || is_scan(&trace->ops[op]);
        if (is_wildcard(&trace->ops[op]) && race->column[trace->ops[op].rank] == TRACE_NO)
            race->column[trace->ops[op].rank] = race->width++;
    }
    if (race->width && (sends + context->group_count + trace->sync_count + trace->ranks) >
                           clock_values_max / race->width)
        return false;
    if (!race->width)
        return true;
    race->clocks = check_new((size_t)trace->ranks * race->width, sizeof *race->clocks);
    race->sent = check_new(trace->op_count, sizeof *race->sent);
    race->gathered = check_new(context->group_count, sizeof *race->gathered);
    race->stamp = check_new(trace->op_count, sizeof *race->stamp);
    check_syncs_init(&race->syncs, trace);
    race->known = check_new(race->syncs.count, sizeof *race->known);
    return true;
}

static void report_too_many(const struct race *race, struct findings *findings)
{
    const struct trace *trace = race->trace;
    uint32_t op = 0;
    while (!is_wildcard(&trace->ops[op]))
        op++;
    struct finding *finding = findings_add(findings, "N001", "bounded: races were not looked for");
    finding_detail(finding,
                   "%u ranks receive from anybody: their vector clocks would not fit into "
                   "memory.\n",
                   race->width);
    trace_gap(trace, "race", race->width, "wildcard receives of more ranks than clocks fit for");
    finding_op_add(finding, op, "unsearched");
    finding_seal(finding, trace);
}

static void race_release(struct race *race)
{
    for (size_t op = 0; race->sent && op < race->trace->op_count; op++)
        free(race->sent[op]);
    for (size_t g = 0; race->gathered && g < race->context->group_count; g++)
        free(race->gathered[g]);
    free(race->column);
    free(race->clocks);
    free(race->sent);
    free(race->gathered);
    free(race->stamp);
    for (size_t i = 0; i < race->syncs.count; i++)
        free(race->known[i]);
    free(race->known);
    check_syncs_release(&race->syncs);
}

void check_race(const struct check_context *context, struct findings *findings)
{
    struct race race;
    struct check_plan plan;
    struct check_replay replay;
    if (!context->has_wildcards)
        return;
    if (!race_init(&race, context)) {
        report_too_many(&race, findings);
    } else if (race.width) {
        check_plan_init(&plan, context, &(struct plan_options){0});
        check_replay_watch(
            &plan, CHECK_EAGER,
            &(struct replay_watch){
                .event = observe, .context = &race, .syncs = &race.syncs, .as_seen = true},
            &replay);
        judge(&race, findings);
        check_replay_release(&replay);
        check_plan_release(&plan);
    }
    race_release(&race);
}
