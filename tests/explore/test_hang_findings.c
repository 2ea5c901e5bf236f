/* What is told of a hang (D001), of random hangs (wait_model.h) whose second reading says who waits for whom: each component that waits for
 * nobody else is one finding, by a shortest cycle in it; who is held up by ranks that have finished is in one, too; who stands for
 * no reason has his own. Who is absent from a collective call is told once, of whoever stands in it. Around the core each finding names who stands because of it, whose messages stayed unmatched, and which of
 * these fits most nearly. */
#include "checker/places.h"
#include "checker/properties.h"
#include "tests/explore/wait_model.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAMS = 3000, OPS_MOST = RANKS_MOST * (2 * REQUESTS_MOST + 2 + 3 * COMMS) };

struct hang_read {
    struct model *model;
    const struct trace *trace;
    struct reading reading;
    unsigned needs[RANKS_MOST]; /* before what is served was forgotten: whom it waits for at all */
    unsigned finished, standing, held;
    uint32_t stands_in[RANKS_MOST]; /* TRACE_NO */
};

static bool in(unsigned set, uint32_t rank)
{
    return set >> rank & 1;
}

static bool reaches(const struct hang_read *hang, uint32_t from, uint32_t to)
{
    return from == to || hang->reading.distance[from][to] < FAR;
}

static bool is_stuck(const struct hang_read *hang, uint32_t rank)
{
    return hang->model->of[rank].stance == STUCK && !in(hang->reading.goes, rank);
}

static bool waits_for_finished(const struct hang_read *hang, uint32_t rank)
{
    return in(hang->standing, rank) && hang->model->of[rank].stance >= RECEIVES &&
           hang->needs[rank] & hang->finished;
}

/* Even if all others went on. */
static bool is_held(const struct hang_read *hang, uint32_t rank)
{
    struct model_rank me = hang->model->of[rank];
    for (unsigned i = 0; i < me.count; i++)
        me.sets[i] = me.sets[i] ? me.sets[i] : ALWAYS; /* a call that all have come to */
    return me.stance >= RECEIVES && !may_go(&me, ~hang->finished);
}

static void hang_read_init(struct hang_read *hang, struct model *model, const struct trace *trace)
{
    *hang = (struct hang_read){.model = model, .trace = trace};
    read_model(model, &hang->reading);
    for (uint32_t rank = 0; rank < model->ranks; rank++) {
        hang->stands_in[rank] = TRACE_NO;
        for (size_t op = trace->rank_begin[rank]; op < trace->rank_begin[rank + 1]; op++)
            if (trace->ops[op].state == STATE_BLOCKED)
                hang->stands_in[rank] = (uint32_t)op;
        if (trace->rank_info[rank].state == RANK_FINISHED)
            hang->finished |= 1u << rank;
        if (!in(hang->reading.goes, rank) && hang->stands_in[rank] != TRACE_NO)
            hang->standing |= 1u << rank;
        for (unsigned i = 0; i < model->of[rank].count; i++)
            hang->needs[rank] |= model->of[rank].sets[i] | model->of[rank].second[i];
    }
    for (uint32_t rank = 0; rank < model->ranks; rank++)
        if (in(hang->standing, rank) && is_held(hang, rank))
            hang->held |= 1u << rank;
}

/* Whether something else is why the rank stands, inside a call or outside: a rank that failed, or in what waits for it as it does for that, or further on. */
static bool has_cause(const struct hang_read *hang, uint32_t rank)
{
    const struct model *model = hang->model;
    for (uint32_t other = 0; other < model->ranks; other++) {
        bool failed = model->of[other].stance == ENDED && !in(hang->finished, other);
        if (!reaches(hang, rank, other) || in(hang->finished, other))
            continue;
        bool cause = failed || is_stuck(hang, other) || is_sink(model, &hang->reading, other) ||
                     in(hang->held, other);
        if (cause || (!reaches(hang, other, rank) && waits_for_finished(hang, other)))
            return true;
    }
    return false;
}

/* ---- one finding ---- */

static unsigned ranks_of(const struct hang_read *hang, const struct finding *finding,
                         const char *role)
{
    unsigned ranks = 0;
    for (size_t i = 0; i < finding->op_count; i++)
        if (!strcmp(finding->ops[i].role, role))
            ranks |= 1u << hang->trace->ops[finding->ops[i].op].rank;
    return ranks;
}

static unsigned times(const char *text, const char *phrase)
{
    unsigned count = 0;
    while ((text = strstr(text, phrase))) {
        count++;
        text++;
    }
    return count;
}

static unsigned bits(unsigned set)
{
    unsigned count = 0;
    for (; set; set &= set - 1)
        count++;
    return count;
}

static uint32_t first_of(unsigned set)
{
    uint32_t first = 0;
    while (!in(set, first))
        first++;
    return first;
}

/* Stands, and neither in a cycle nor because of one or of somebody who never goes. */
static bool is_astray(const struct hang_read *hang, uint32_t rank)
{
    for (uint32_t other = 0; other < hang->model->ranks; other++)
        if (reaches(hang, rank, other) &&
            (hang->model->of[other].stance == ENDED || is_stuck(hang, other) ||
             hang->reading.distance[other][other] < FAR))
            return false;
    return in(hang->standing, rank);
}

static bool is_unmatched(const struct trace_op *op)
{
    enum op_class class = op_kind_class(op->kind);
    bool over = op->state == STATE_COMPLETE && class != CLASS_SEND;
    return (class == CLASS_SEND || class == CLASS_RECEIVE) && op->peer != TRACE_NONE && !over;
}

/* Of which operations around the core nobody is told in another role: the first are named, in order, the others counted. */
static unsigned unmatched_wrong(const struct hang_read *hang, const struct finding *finding,
                                unsigned core, unsigned waits, bool all)
{
    const struct trace *trace = hang->trace;
    char more[60];
    unsigned left = 0, wrong = 0;
    size_t at = 0;
    for (uint32_t op = 0; op < trace->op_count; op++) {
        const struct trace_op *one = &trace->ops[op];
        bool named = false;
        for (size_t i = 0; i < finding->op_count; i++)
            named =
                named || (finding->ops[i].op == op && strcmp(finding->ops[i].role, "unmatched"));
        bool near =
            in(core | waits, one->rank) || (one->peer >= 0 && in(core, (uint32_t)one->peer));
        if (named || !is_unmatched(one) || (!all && in(hang->standing, one->rank) && !near))
            continue;
        if (left++ >= PLACES_LISTED_MAX)
            continue;
        while (at < finding->op_count && strcmp(finding->ops[at].role, "unmatched"))
            at++;
        wrong += at >= finding->op_count || finding->ops[at++].op != op;
    }
    for (; at < finding->op_count; at++)
        wrong += !strcmp(finding->ops[at].role, "unmatched");
    snprintf(more, sizeof more, "Unmatched: %u more operations.\n", left - PLACES_LISTED_MAX);
    bool counted = left > PLACES_LISTED_MAX;
    return wrong + (times(finding->detail, "more operations") != counted) +
           (counted && !strstr(finding->detail, more));
}

/* Who waits for the core and the core for him: neither alone is why the other one stands. */
static unsigned knot_of(const struct hang_read *hang, unsigned core, unsigned waits)
{
    unsigned knot = 0;
    for (uint32_t rank = 0; rank < hang->model->ranks; rank++)
        for (uint32_t other = 0; other < hang->model->ranks; other++)
            if (in(waits, rank) && in(core, other) && reaches(hang, rank, other) &&
                reaches(hang, other, rank))
                knot |= 1u << rank;
    return knot;
}

static unsigned waits_wrong(const struct hang_read *hang, const struct finding *finding,
                            unsigned core, unsigned waits)
{
    unsigned knot = knot_of(hang, core, waits), seen = 0;
    unsigned wrong = times(finding->detail, "Only waits: ") != bits(waits & ~knot);
    wrong += times(finding->detail, "Stands, too: ") != bits(knot);
    for (size_t i = 0; i < finding->op_count; i++) {
        uint32_t rank = hang->trace->ops[finding->ops[i].op].rank;
        if (strcmp(finding->ops[i].role, "waits"))
            continue;
        wrong += !in(waits, rank) || hang->stands_in[rank] != finding->ops[i].op || seen >> rank;
        seen |= 1u << rank;
    }
    return wrong + (seen != waits);
}

/* 0: not at all; then by how much the other one is wrong: communicator and tag, communicator, tag. */
static int nearness(const struct trace_op *one, const struct trace_op *other)
{
    bool sends = op_kind_class(one->kind) == CLASS_SEND;
    bool opposite = op_kind_class(other->kind) == (sends ? CLASS_RECEIVE : CLASS_SEND);
    bool toward = other->peer == TRACE_ANY || other->peer == (int32_t)one->rank;
    if (!opposite || !toward || !is_unmatched(other))
        return 0;
    return one->form->comm == other->form->comm ? 3 : one->tag == other->tag ? 2 : 1;
}

static unsigned nearest_wrong(const struct hang_read *hang, const struct finding *finding)
{
    static const char *const whys[] = {NULL, "on another communicator", "on another communicator",
                                       "with another tag"};
    const struct trace *trace = hang->trace;
    unsigned told = 0, wrong = 0;
    for (size_t i = 0; i < finding->op_count; i++) {
        const struct trace_op *one = &trace->ops[finding->ops[i].op];
        enum op_class class = op_kind_class(one->kind);
        if (strcmp(finding->ops[i].role, "core") || one->peer < 0 ||
            (class != CLASS_SEND && class != CLASS_RECEIVE && class != CLASS_PROBE))
            continue;
        int best = 0;
        uint32_t nearest = TRACE_NO;
        char place[PLACE_TEXT], line[PLACE_TEXT + 60];
        for (uint32_t op = 0; op < trace->op_count; op++)
            if (trace->ops[op].rank == (uint32_t)one->peer &&
                nearness(one, &trace->ops[op]) > best) {
                best = nearness(one, &trace->ops[op]);
                nearest = op;
            }
        if (!best)
            continue;
        bool named = false;
        for (size_t k = 0; k < finding->op_count; k++)
            named = named || finding->ops[k].op == nearest;
        snprintf(line, sizeof line, "Nearest partner: %s, %s.\n",
                 check_place(trace, nearest, place, sizeof place), whys[best]);
        wrong += !named || !strstr(finding->detail, line);
        told++;
    }
    return wrong + (times(finding->detail, "Nearest partner: ") != told);
}

static unsigned around_wrong(const struct hang_read *hang, const struct finding *finding,
                             unsigned core)
{
    unsigned waits = 0;
    for (uint32_t rank = 0; rank < hang->model->ranks; rank++) {
        bool stands = in(hang->standing, rank) && !in(core, rank), because = false;
        for (uint32_t other = 0; other < hang->model->ranks; other++)
            because = because || (in(core, other) && reaches(hang, rank, other));
        if (stands && (because || is_astray(hang, rank)))
            waits |= 1u << rank;
    }
    return waits_wrong(hang, finding, core, waits) +
           unmatched_wrong(hang, finding, core, waits, false);
}

/* Whether the start of a message, or the other half of one request, may be for the rank. */
static bool is_for(const struct hang_read *hang, uint32_t start, uint32_t rank)
{
    const struct trace_op *ops = hang->trace->ops;
    bool halves = ops[start].flags & OP_COMPOUND, sends = ops[start].kind == OP_ISEND;
    for (uint32_t op = halves && !sends ? start - 1 : start;
         op <= (halves && sends ? start + 1 : start); op++) {
        bool member = false;
        for (unsigned i = 0; i < COMMS; i++)
            member = member || (hang->model->comms[i] == ops[op].form->comm &&
                                in(hang->model->members[i], rank));
        if (ops[op].peer == (int32_t)rank || (ops[op].peer == TRACE_ANY && member))
            return ops[op].state == STATE_POSTED;
    }
    return false;
}

/* Of a wait the request is named because of which it stands, of other calls nothing. */
static unsigned reason_wrong(const struct hang_read *hang, const struct finding *finding,
                             uint32_t rank, uint32_t next)
{
    unsigned reasons = 0, wrong = 0;
    char what[160], text[180];
    for (size_t i = 0; i < finding->op_count; i++) {
        uint32_t op = finding->ops[i].op;
        if (strcmp(finding->ops[i].role, "core") || hang->trace->ops[op].rank != rank ||
            op == hang->stands_in[rank])
            continue;
        reasons++;
        snprintf(text, sizeof text, " (for %s)", trace_op_text(hang->trace, op, what, sizeof what));
        wrong += !is_for(hang, op, next) || !strstr(finding->detail, text);
    }
    return wrong + (reasons != (hang->model->of[rank].stance >= WAITS_ALL));
}

static unsigned cycle_wrong(const struct hang_read *hang, const struct finding *finding,
                            unsigned core)
{
    uint32_t path[OPS_MOST], count = 0;
    char text[60];
    for (size_t i = 0; i < finding->op_count && !strcmp(finding->ops[i].role, "core"); i++) {
        uint32_t rank = hang->trace->ops[finding->ops[i].op].rank;
        if (hang->stands_in[rank] == finding->ops[i].op)
            path[count++] = rank;
    }
    int length = 0;
    unsigned wrong = count != bits(core) || times(finding->detail, "In the cycle: ") != count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t next = path[(i + 1) % count];
        length += steps(&hang->model->of[path[i]], next);
        snprintf(text, sizeof text, ", waits for rank %u", next);
        wrong += !strstr(finding->detail, text) + reason_wrong(hang, finding, path[i], next);
    }
    snprintf(text, sizeof text, count == 1 ? "a rank waits for itself: " : "cycle of %u blocked ",
             count);
    return wrong + !strstr(finding->title, text) + !count ||
           length != shortest(hang->model, &hang->reading, path[0]) ||
           !is_sink(hang->model, &hang->reading, path[0]);
}

/* How the rank waits for the other one that has finished: 1 by sends, 2 by receives, 3 perhaps by both. */
static unsigned waits_how(const struct hang_read *hang, uint32_t rank, uint32_t other)
{
    unsigned how = 0;
    for (size_t op = hang->trace->rank_begin[rank]; op < hang->trace->rank_begin[rank + 1]; op++) {
        const struct trace_op *one = &hang->trace->ops[op];
        bool toward = one->peer == TRACE_ANY || one->peer == (int32_t)other;
        if (toward && one->state != STATE_COMPLETE)
            how |= op_kind_class(one->kind) == CLASS_SEND ? 1 : 2;
    }
    return how;
}

/* Who has finished is told for each that waits for him, once for what he does not send and once for what he does not receive, and what he left undone. */
static unsigned messages_wrong(const struct hang_read *hang, const struct finding *finding,
                               unsigned core)
{
    unsigned pairs = 0, how[4] = {0};
    for (uint32_t rank = 0; rank < hang->model->ranks; rank++)
        for (uint32_t other = 0; other < hang->model->ranks; other++) {
            enum stance stance = hang->model->of[rank].stance;
            bool message = (stance == RECEIVES && hang->model->of[rank].window == OP_NONE) ||
                           stance >= WAITS_ALL;
            if (!in(core, rank) || !message || !in(hang->needs[rank] & hang->finished, other))
                continue;
            pairs++;
            how[waits_how(hang, rank, other)]++;
        }
    unsigned receives = times(finding->detail, "without an operation that receives it");
    unsigned sends = times(finding->detail, "without an operation that sends it");
    return receives < how[1] || sends < how[2] || receives + sends < pairs ||
           receives + sends > pairs + how[3];
}

/* So is what somebody who has finished did not do for a window. */
static unsigned windows_wrong(const struct hang_read *hang, const struct finding *finding,
                              unsigned core)
{
    static const struct {
        enum op_kind kind;
        const char *without;
    } rows[] = {{OP_WIN_START, " has finished without a MPI_Win_post that it waits for.\n"},
                {OP_WIN_WAIT, " has finished without the MPI_Win_complete.\n"},
                {OP_WIN_LOCK, " has finished without giving the lock back.\n"}};
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned told = 0;
        for (uint32_t rank = 0; rank < hang->model->ranks; rank++) {
            enum op_kind call = hang->model->of[rank].window;
            if (in(core, rank) && (call == OP_WIN_LOCK_ALL ? OP_WIN_LOCK : call) == rows[i].kind)
                told += bits(hang->needs[rank] & hang->finished);
        }
        wrong += times(finding->detail, rows[i].without) != told;
    }
    return wrong;
}

/* Which ranks a sentence names before its verb; UINT_MAX where it names one twice. */
static unsigned named_in(const char *line, const char *verb)
{
    unsigned named = 0;
    while (line < verb) {
        char *end;
        unsigned long rank = strtoul(line, &end, 10);
        if (end == line) {
            line++;
            continue;
        }
        if (in(named, (uint32_t)rank))
            return UINT_MAX;
        named |= 1u << rank;
        line = end;
    }
    return named;
}

/* Who is told, each once, to be absent with such words; UINT_MAX where one is told twice. */
static unsigned told_absent_with(const char *detail, const char *words)
{
    unsigned all = 0;
    for (const char *line = detail, *end; (end = strchr(line, '\n')); line = end + 1) {
        const char *verb = strstr(line, " ha"), *at = strstr(line, words);
        bool sentence = !strncmp(line, "Rank ", 5) || !strncmp(line, "Ranks ", 6);
        if (!sentence || !verb || verb > end || !at || at > end)
            continue;
        unsigned named = named_in(line, verb);
        if (named & all)
            return UINT_MAX;
        all |= named;
    }
    return all;
}

/* Who never comes to a collective call in which the core stands is told once, with the calls that he made. */
static unsigned calls_wrong(const struct hang_read *hang, const struct finding *finding,
                            unsigned core)
{
    const struct model *model = hang->model;
    unsigned wrong = 0, absent[COMMS + 1][2] = {{0}};
    char words[PLACE_TEXT + 80], place[PLACE_TEXT];
    for (uint32_t rank = 0; rank < model->ranks; rank++)
        if (in(core, rank) && model->of[rank].stance == COLLECTS)
            absent[model->of[rank].comm][model->of[rank].ahead] |=
                hang->needs[rank] & hang->finished;
        else if (in(core, rank) && model->of[rank].stance == FINALIZES)
            absent[COMMS][0] |= hang->needs[rank] & hang->finished;
    for (unsigned i = 0; i < 2 * COMMS; i++) {
        unsigned comm = i / 2, calls = model->before[comm];
        check_comm_text(hang->trace, model->comms[comm], place, sizeof place);
        snprintf(words, sizeof words, " made %u collective call%s on %s, this is number %u.\n",
                 calls, calls == 1 ? "" : "s", place, calls + 1 + i % 2);
        wrong += told_absent_with(finding->detail, words) != absent[comm][i % 2];
    }
    return wrong +
           (told_absent_with(finding->detail, " without calling it.\n") != absent[COMMS][0]);
}

/* Told with the first: at the same place, or each may be why the other one stands. */
static bool is_told_with(const struct hang_read *hang, uint32_t first, uint32_t rank)
{
    const struct trace_op *one = &hang->trace->ops[hang->stands_in[first]],
                          *other = &hang->trace->ops[hang->stands_in[rank]];
    return (one->kind == other->kind && one->form->site == other->form->site) ||
           (reaches(hang, first, rank) && reaches(hang, rank, first) && !in(hang->held, first) &&
            !in(hang->held, rank));
}

/* Those told to have finished are some that the core waits for. */
static unsigned absent_wrong(const struct hang_read *hang, const struct finding *finding,
                             unsigned core, unsigned told)
{
    unsigned wrong = times(finding->detail, "Stands: ") != bits(core), awaited = 0;
    bool reason = false;
    char text[40];
    for (uint32_t rank = first_of(core); rank < hang->model->ranks; rank++)
        wrong += in(core, rank) != (waits_for_finished(hang, rank) && !in(told, rank) &&
                                    is_told_with(hang, first_of(core), rank));
    for (uint32_t rank = 0; rank < hang->model->ranks; rank++) {
        if (!in(core, rank))
            continue;
        wrong += !waits_for_finished(hang, rank);
        reason = reason || in(hang->held, rank) || !has_cause(hang, rank);
        awaited |= hang->needs[rank];
    }
    for (uint32_t rank = 0; rank < hang->model->ranks; rank++) {
        snprintf(text, sizeof text, "Rank %u has finished ", rank);
        wrong += strstr(finding->detail, text) && !in(awaited & hang->finished, rank);
    }
    return wrong + !reason + messages_wrong(hang, finding, core) +
           windows_wrong(hang, finding, core) + calls_wrong(hang, finding, core);
}

/* Where nothing else is told and every rank stands in a call or has finished: the first that stands. */
static uint32_t speaks_for_all(const struct hang_read *hang)
{
    uint32_t first = TRACE_NO;
    for (uint32_t rank = hang->model->ranks; rank-- > 0;) {
        enum rank_state state = hang->trace->rank_info[rank].state;
        bool blocked = hang->stands_in[rank] != TRACE_NO;
        if (state == RANK_CRASHED || state == RANK_ABORTED || (!blocked && state != RANK_FINISHED))
            return TRACE_NO;
        first = blocked ? rank : first;
    }
    return first;
}

static unsigned alone_wrong(const struct hang_read *hang, const struct finding *finding,
                            unsigned core)
{
    uint32_t rank = speaks_for_all(hang);
    return rank == TRACE_NO || core != 1u << rank ||
           waits_wrong(hang, finding, core, hang->standing & ~core) ||
           unmatched_wrong(hang, finding, core, 0, true);
}

/* ---- all of one hang ---- */

struct tally {
    unsigned cycles, absent, stuck, alone, quiet, wrong;
};

static void judge(const struct hang_read *hang, const struct findings *findings,
                  struct tally *tally)
{
    unsigned told_cycle = 0, told_absent = 0, told_stuck = 0;
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        unsigned core = ranks_of(hang, finding, "core");
        bool cycle = strstr(finding->title, "cycle of ") || strstr(finding->title, "for itself");
        tally->wrong += strcmp(finding->code, "D001") != 0 || !core;
        if (cycle) {
            tally->wrong += cycle_wrong(hang, finding, core) || core & told_cycle;
            told_cycle |= core;
        } else if (strstr(finding->title, "a partner never comes")) {
            tally->wrong += absent_wrong(hang, finding, core, told_absent) || core & told_absent;
            told_absent |= core;
        } else {
            tally->wrong += bits(core) != 1 || !strstr(finding->title, "a rank stands for ever");
            told_stuck |= core;
        }
        tally->wrong += !in(told_stuck, first_of(core)) && nearest_wrong(hang, finding) > 0;
        bool alone = bits(core) == 1 && strstr(finding->title, "stands for ever") &&
                     !is_stuck(hang, first_of(core));
        tally->alone += alone;
        tally->wrong += alone ? findings->count > 1 || alone_wrong(hang, finding, core)
                              : around_wrong(hang, finding, core) > 0;
    }
    tally->wrong += !findings->count && speaks_for_all(hang) != TRACE_NO;
    for (uint32_t rank = 0; rank < hang->model->ranks; rank++) {
        bool sink = in(hang->standing, rank) && shortest(hang->model, &hang->reading, rank) &&
                    is_sink(hang->model, &hang->reading, rank);
        bool told = false;
        for (uint32_t other = 0; other < hang->model->ranks; other++)
            told = told || (in(told_cycle, other) && reaches(hang, rank, other) &&
                            reaches(hang, other, rank));
        tally->wrong += sink != told;
        bool absent =
            waits_for_finished(hang, rank) && (in(hang->held, rank) || !has_cause(hang, rank));
        tally->wrong += absent && !in(told_absent, rank);
        tally->wrong += is_stuck(hang, rank) && !in(told_stuck, rank);
    }
    tally->cycles += bits(told_cycle);
    tally->absent += bits(told_absent);
    tally->stuck += bits(told_stuck);
    tally->quiet += !findings->count;
}

static void ask(unsigned number, struct tally *tally)
{
    struct check_options options;
    struct check_context context;
    struct findings findings;
    struct hang_read hang;
    struct model model;
    struct program p = model_draw(&model, number);
    p.trace->outcome = OUTCOME_DEADLOCK;
    program_finish(&p);
    check_options_init(&options);
    check_context_init(&context, p.trace, &options);
    findings_init(&findings);
    check_deadlock(&context, &findings);
    hang_read_init(&hang, &model, p.trace);
    unsigned before = tally->wrong;
    judge(&hang, &findings, tally);
    if (tally->wrong > before && !before) {
        tap_note("program %u", number);
        for (size_t i = 0; i < findings.count; i++)
            tap_note("%s\n%s", findings.items[i].title, findings.items[i].detail);
    }
    findings_release(&findings);
    check_context_release(&context);
    trace_free(p.trace);
}

int main(void)
{
    struct tally tally = {0};
    for (unsigned i = 1; i <= PROGRAMS; i++)
        ask(i, &tally);
    tap_is_int(tally.wrong, 0, "what is told of hangs: cores, who waits, what is unmatched");
    tap_ok(tally.cycles > 1000 && tally.absent > 500 && tally.stuck > 100 && tally.alone > 5 &&
               tally.quiet > 100,
           "%u ranks in cycles, %u held up by others' end, %u for no reason, %u alone; %u hangs "
           "without",
           tally.cycles, tally.absent, tally.stuck, tally.alone, tally.quiet);
    return tap_done();
}
