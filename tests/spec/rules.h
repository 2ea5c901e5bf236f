/* rules.h: what MPI-4 says of matching and completion, as rules over what was seen of a run.
 *
 * Nothing here is executed in any order. A run is allowed when its observations are what messages
 * were sent, no rule is broken, and the events can be put into one order in which each comes after
 * what it needs (a graph without cycles). What a run of a world is held to:
 *
 *  R1 a message goes to a receive of its destination, communicator, source and tag, and to one only
 *  R2 two messages of one sender that fit one receive are matched in the order sent (3.5)
 *  R3 two receives that fit one message are matched in the order posted, unless the earlier one was
 *     cancelled first (3.5, 3.8.4)
 *  R4 a call ends after what it stands for: a receive after its match, a synchronous send (every
 *     send, where sends wait) after its match, a wait after the operations it completed (3.4, 3.7)
 *  R5 a probe is of a message sent, not yet matched, before which no other of that sender fits, and
 *     which no receive posted earlier is owed (3.8)
 *  R6 nobody leaves a barrier that somebody has not entered (6.3)
 *  R7 who stands at the end stands for want of something: a receive and a message that fit are
 *     never both left (progress, 3.5); a wait that could end does
 *  R8 a status tells the source and tag of the message that came */
#ifndef SPEC_RULES_H
#define SPEC_RULES_H

#include "tests/spec/program.h"

enum {
    SPEC_NUMBERS = SPEC_RANKS * SPEC_OPS,
    SPEC_EVENTS = 3 * SPEC_NUMBERS, /* begin, end, and of a receive its match */
    SPEC_EDGES = 64
};

struct spec_rules {
    const struct spec_program *program;
    const struct spec_run *run;
    int taker[SPEC_NUMBERS];  /* of a message: the receive that has it, SPEC_NONE */
    int cancel[SPEC_NUMBERS]; /* of a receive: the call that cancelled it */
    short before[SPEC_EVENTS][SPEC_EDGES];
    short before_count[SPEC_EVENTS];
    char broken[200];
};

static inline const struct spec_op *spec_op(const struct spec_rules *rules, int number)
{
    return &rules->program->ops[number / SPEC_OPS][number % SPEC_OPS];
}

static inline const struct spec_seen *spec_seen(const struct spec_rules *rules, int number)
{
    return &rules->run->seen[number / SPEC_OPS][number % SPEC_OPS];
}

static inline int spec_begin(int number)
{
    return number;
}

static inline int spec_end(int number)
{
    return SPEC_NUMBERS + number;
}

static inline int spec_match(int receive)
{
    return 2 * SPEC_NUMBERS + receive;
}

static inline bool spec_says(struct spec_rules *rules, const char *rule, int one, int other)
{
    if (!*rules->broken)
        snprintf(rules->broken, sizeof rules->broken, "%s: rank %d op %d, rank %d op %d", rule,
                 one / SPEC_OPS, one % SPEC_OPS, other / SPEC_OPS, other % SPEC_OPS);
    return false;
}

static inline void spec_order(struct spec_rules *rules, int first, int then)
{
    for (int i = 0; i < rules->before_count[then]; i++)
        if (rules->before[then][i] == first)
            return;
    if (rules->before_count[then] < SPEC_EDGES)
        rules->before[then][rules->before_count[then]++] = (short)first;
    else
        spec_says(rules, "too many edges", first % SPEC_NUMBERS, then % SPEC_NUMBERS);
}

static inline bool spec_exists(const struct spec_rules *rules, int number)
{
    return number / SPEC_OPS < rules->program->ranks &&
           number % SPEC_OPS < rules->program->count[number / SPEC_OPS] &&
           spec_seen(rules, number)->begun;
}

static inline bool spec_is_message(const struct spec_rules *rules, int number)
{
    return spec_exists(rules, number) && spec_sends(spec_op(rules, number)->kind);
}

static inline bool spec_is_receive(const struct spec_rules *rules, int number)
{
    return spec_exists(rules, number) && spec_receives(spec_op(rules, number)->kind);
}

/* Whether what receives or probes could be of the message. */
static inline bool spec_fits(const struct spec_rules *rules, int receive, int message)
{
    const struct spec_op *r = spec_op(rules, receive), *m = spec_op(rules, message);
    return m->to == receive / SPEC_OPS && m->comm == r->comm &&
           (r->from == SPEC_ANY || r->from == message / SPEC_OPS) &&
           (r->tag == SPEC_ANY || r->tag == m->send_tag);
}

static inline bool spec_is_matched(const struct spec_rules *rules, int receive)
{
    return spec_seen(rules, receive)->message != SPEC_NONE;
}

/* ---- R1, R8 ---- */

static inline bool spec_pair(struct spec_rules *rules, int receive)
{
    const struct spec_seen *seen = spec_seen(rules, receive);
    int message = seen->message;
    if (message == SPEC_NONE)
        return true;
    if (message < 0 || message >= SPEC_NUMBERS || !spec_is_message(rules, message) ||
        !spec_fits(rules, receive, message))
        return spec_says(rules, "R1: not for this receive", receive, message);
    if (rules->taker[message] != SPEC_NONE)
        return spec_says(rules, "R1: one message, two receives", receive, rules->taker[message]);
    if (seen->cancelled)
        return spec_says(rules, "R3: cancelled, and matched", receive, message);
    if (seen->source != SPEC_NONE &&
        (seen->source != message / SPEC_OPS || seen->tag != spec_op(rules, message)->send_tag))
        return spec_says(rules, "R8: the status is of another message", receive, message);
    rules->taker[message] = receive;
    spec_order(rules, spec_begin(message), spec_match(receive));
    spec_order(rules, spec_begin(receive), spec_match(receive));
    return true;
}

/* ---- R2, R3 ---- */

static inline bool spec_no_overtaking(struct spec_rules *rules, int receive)
{
    int message = spec_seen(rules, receive)->message;
    if (message == SPEC_NONE)
        return true;
    for (int earlier = message / SPEC_OPS * SPEC_OPS; earlier < message; earlier++) {
        if (!spec_is_message(rules, earlier) || !spec_fits(rules, receive, earlier))
            continue;
        if (rules->taker[earlier] == SPEC_NONE)
            return spec_says(rules, "R2: overtaken by a later message", earlier, message);
        spec_order(rules, spec_match(rules->taker[earlier]), spec_match(receive));
    }
    for (int earlier = receive / SPEC_OPS * SPEC_OPS; earlier < receive; earlier++) {
        if (!spec_is_receive(rules, earlier) || !spec_fits(rules, earlier, message))
            continue;
        if (spec_is_matched(rules, earlier))
            spec_order(rules, spec_match(earlier), spec_match(receive));
        else if (rules->cancel[earlier] != SPEC_NONE)
            spec_order(rules, spec_end(rules->cancel[earlier]), spec_match(receive));
        else
            return spec_says(rules, "R3: a receive posted earlier was passed over", earlier,
                             receive);
    }
    return true;
}

/* ---- R4 ---- */

/* Whether the send is complete only when matched. */
static inline bool spec_is_synchronous(const struct spec_rules *rules, int send)
{
    enum spec_kind kind = spec_op(rules, send)->kind;
    return rules->program->sends_wait || kind == SPEC_SSEND || kind == SPEC_ISSEND;
}

/* Whether what the operation has started can be complete. */
static inline bool spec_is_done(const struct spec_rules *rules, int number)
{
    enum spec_kind kind = spec_op(rules, number)->kind;
    bool received = !spec_receives(kind) || spec_is_matched(rules, number) ||
                    rules->cancel[number] != SPEC_NONE;
    bool sent = !spec_sends(kind) || !spec_is_synchronous(rules, number) ||
                rules->taker[number] != SPEC_NONE;
    return received && sent;
}

/* `event` comes after what `number` started is complete. */
static inline bool spec_after_done(struct spec_rules *rules, int number, int event)
{
    enum spec_kind kind = spec_op(rules, number)->kind;
    if (!spec_is_done(rules, number))
        return spec_says(rules, "R4: ended before what it stands for", event % SPEC_NUMBERS,
                         number);
    if (spec_receives(kind) && spec_is_matched(rules, number))
        spec_order(rules, spec_match(number), event);
    else if (spec_receives(kind))
        spec_order(rules, spec_end(rules->cancel[number]), event);
    if (spec_sends(kind) && spec_is_synchronous(rules, number))
        spec_order(rules, spec_match(rules->taker[number]), event);
    return true;
}

static inline bool spec_ended(struct spec_rules *rules, int number)
{
    const struct spec_op *op = spec_op(rules, number);
    const struct spec_seen *seen = spec_seen(rules, number);
    int first = number / SPEC_OPS * SPEC_OPS;
    if (op->kind == SPEC_WAIT || (op->kind == SPEC_TEST && seen->flag))
        return spec_after_done(rules, first + op->request, spec_end(number));
    bool any = op->kind == SPEC_WAITANY || op->kind == SPEC_TESTANY;
    bool some = op->kind == SPEC_WAITSOME || op->kind == SPEC_TESTSOME;
    if (any && seen->index != SPEC_NONE)
        return spec_after_done(rules, first + seen->index, spec_end(number));
    for (int start = first; some && start < number; start++)
        if (seen->some >> (start - first) & 1 && !spec_after_done(rules, start, spec_end(number)))
            return false;
    if (op->kind == SPEC_WAITSOME && !seen->some && !seen->flag)
        return spec_says(rules, "R4: a wait for some gave none", number, number);
    if (op->kind == SPEC_WAITALL || (op->kind == SPEC_TESTALL && seen->flag) ||
        (any && (seen->flag || op->kind == SPEC_WAITANY)) || (some && seen->flag))
        for (int start = first; start < number; start++)
            if (spec_starts(spec_op(rules, start)->kind) &&
                !spec_after_done(rules, start, spec_end(number)))
                return false;
    if (op->kind <= SPEC_SENDRECV && !spec_starts(op->kind))
        return spec_after_done(rules, number, spec_end(number));
    return true;
}

/* ---- R6 ---- */

static inline int spec_barrier(const struct spec_rules *rules, int rank, int comm, int which)
{
    for (int i = 0; i < rules->program->count[rank]; i++)
        if (rules->program->ops[rank][i].kind == SPEC_BARRIER &&
            rules->program->ops[rank][i].comm == comm && which-- == 0)
            return rules->run->seen[rank][i].begun ? spec_number(rank, i) : SPEC_NONE;
    return SPEC_NONE;
}

/* Which barrier of its rank on its communicator this is. */
static inline int spec_which(const struct spec_rules *rules, int number)
{
    int which = 0;
    for (int i = number / SPEC_OPS * SPEC_OPS; i < number; i++)
        which += spec_op(rules, i)->kind == SPEC_BARRIER &&
                 spec_op(rules, i)->comm == spec_op(rules, number)->comm;
    return which;
}

/* True: all have entered. */
static inline bool spec_all_there(struct spec_rules *rules, int number, bool order)
{
    for (int rank = 0; rank < rules->program->ranks; rank++) {
        int other =
            spec_barrier(rules, rank, spec_op(rules, number)->comm, spec_which(rules, number));
        if (other == SPEC_NONE)
            return false;
        if (order)
            spec_order(rules, spec_begin(other), spec_end(number));
    }
    return true;
}

/* ---- R7 ---- */

static inline bool spec_is_free(const struct spec_rules *rules, int message)
{
    return spec_is_message(rules, message) && rules->taker[message] == SPEC_NONE;
}

static inline int spec_free_message(const struct spec_rules *rules, int receive)
{
    for (int message = 0; message < SPEC_NUMBERS; message++)
        if (spec_is_free(rules, message) && spec_fits(rules, receive, message))
            return message;
    return SPEC_NONE;
}

/* Whether a call of the rank before `until` has completed the request: it is active no more. */
static inline bool spec_told(const struct spec_rules *rules, int start, int until)
{
    int first = start / SPEC_OPS * SPEC_OPS;
    for (int number = start + 1; number < until; number++) {
        const struct spec_op *op = spec_op(rules, number);
        const struct spec_seen *seen = spec_seen(rules, number);
        bool one = first + op->request == start;
        if ((op->kind == SPEC_WAIT && one) || (op->kind == SPEC_TEST && one && seen->flag) ||
            op->kind == SPEC_WAITALL || (op->kind == SPEC_TESTALL && seen->flag) ||
            first + seen->index == start || seen->some >> (start - first) & 1)
            return true;
    }
    return false;
}

/* Whether who stands in the call has a reason. */
static inline bool spec_may_stand(struct spec_rules *rules, int number)
{
    const struct spec_op *op = spec_op(rules, number);
    int first = number / SPEC_OPS * SPEC_OPS, active = 0, done = 0;
    switch (op->kind) {
    case SPEC_SEND:
    case SPEC_SSEND:
    case SPEC_RECV:
    case SPEC_MRECV:
    case SPEC_SENDRECV:
        return !spec_is_done(rules, number);
    case SPEC_PROBE:
        return spec_free_message(rules, number) == SPEC_NONE;
    case SPEC_WAIT:
        return !spec_is_done(rules, first + op->request);
    case SPEC_WAITANY:
    case SPEC_WAITSOME:
        for (int start = first; start < number; start++) {
            bool starts = spec_starts(spec_op(rules, start)->kind);
            active += starts && !spec_told(rules, start, number);
            done += starts && !spec_told(rules, start, number) && spec_is_done(rules, start);
        }
        return active && !done;
    case SPEC_WAITALL:
        for (int start = first; start < number; start++)
            if (spec_starts(spec_op(rules, start)->kind) && !spec_is_done(rules, start))
                return true;
        return false;
    case SPEC_BARRIER:
        return !spec_all_there(rules, number, false);
    default:
        return false;
    }
}

static inline bool spec_stands_rightly(struct spec_rules *rules)
{
    bool stands = false;
    for (int number = 0; number < SPEC_NUMBERS; number++) {
        if (!spec_exists(rules, number))
            continue;
        if (spec_is_receive(rules, number) && !spec_is_done(rules, number) &&
            rules->cancel[number] == SPEC_NONE && !spec_is_matched(rules, number) &&
            spec_free_message(rules, number) != SPEC_NONE)
            return spec_says(rules, "R7: both are left", number, spec_free_message(rules, number));
        if (spec_seen(rules, number)->ended)
            continue;
        stands = true;
        if (!spec_may_stand(rules, number))
            return spec_says(rules, "R7: stands without a reason", number, number);
    }
    if (stands == rules->run->finished)
        return spec_says(rules, "R7: finished, or not", 0, 0);
    return true;
}

/* ---- one order of all ---- */

static inline bool spec_reaches_itself(const struct spec_rules *rules, int event, char *colour)
{
    if (colour[event])
        return colour[event] == 1;
    colour[event] = 1;
    for (int i = 0; i < rules->before_count[event]; i++)
        if (spec_reaches_itself(rules, rules->before[event][i], colour))
            return true;
    colour[event] = 2;
    return false;
}

static inline bool spec_has_cycle(const struct spec_rules *rules)
{
    char colour[SPEC_EVENTS] = {0};
    for (int event = 0; event < SPEC_EVENTS; event++)
        if (spec_reaches_itself(rules, event, colour))
            return true;
    return false;
}

/* ---- R5 ---- */

/* The probe's order, if it was of this message. False: it cannot have been. */
static inline bool spec_probed(struct spec_rules *rules, int probe, int message)
{
    const struct spec_seen *seen = spec_seen(rules, probe);
    if (!spec_is_message(rules, message) || !spec_fits(rules, probe, message) ||
        seen->source != message / SPEC_OPS || seen->tag != spec_op(rules, message)->send_tag)
        return false;
    for (int earlier = message / SPEC_OPS * SPEC_OPS; earlier < message; earlier++) {
        if (!spec_is_message(rules, earlier) || !spec_fits(rules, probe, earlier))
            continue;
        if (rules->taker[earlier] == SPEC_NONE)
            return false;
        spec_order(rules, spec_match(rules->taker[earlier]), spec_end(probe));
    }
    for (int receive = probe / SPEC_OPS * SPEC_OPS; receive < probe; receive++) {
        if (!spec_is_receive(rules, receive) || !spec_fits(rules, receive, message))
            continue;
        if (spec_is_matched(rules, receive))
            spec_order(rules, spec_match(receive), spec_end(probe));
        else if (rules->cancel[receive] != SPEC_NONE)
            spec_order(rules, spec_end(rules->cancel[receive]), spec_end(probe));
        else
            return false;
    }
    spec_order(rules, spec_begin(message), spec_end(probe));
    if (rules->taker[message] != SPEC_NONE)
        spec_order(rules, spec_end(probe), spec_match(rules->taker[message]));
    return true;
}

/* Some message for every probe from this one on, so that all fit into one order. */
static inline bool spec_probes(struct spec_rules *rules, int from)
{
    for (int probe = from; probe < SPEC_NUMBERS; probe++) {
        enum spec_kind kind = spec_op(rules, probe)->kind;
        const struct spec_seen *seen = spec_seen(rules, probe);
        if (!spec_exists(rules, probe) || !seen->ended ||
            (kind != SPEC_PROBE && (kind != SPEC_IPROBE || !seen->flag)))
            continue;
        for (int message = 0; message < SPEC_NUMBERS; message++) {
            struct spec_rules tried = *rules;
            if (spec_probed(&tried, probe, message) && spec_probes(&tried, probe + 1))
                return true;
        }
        return spec_says(rules, "R5: no such message, or one that is another's", probe, probe);
    }
    return !spec_has_cycle(rules);
}

/* ---- all ---- */

static inline void spec_find_cancels(struct spec_rules *rules)
{
    for (int number = 0; number < SPEC_NUMBERS; number++)
        rules->taker[number] = rules->cancel[number] = SPEC_NONE;
    for (int number = SPEC_NUMBERS - 1; number >= 0; number--) {
        int target = number / SPEC_OPS * SPEC_OPS + spec_op(rules, number)->request;
        if (spec_exists(rules, number) && spec_op(rules, number)->kind == SPEC_CANCEL &&
            !spec_is_matched(rules, target))
            rules->cancel[target] = number;
    }
}

/* False: the run is none that MPI allows, and rules->broken says why. */
static inline bool spec_allows(struct spec_rules *rules, const struct spec_program *program,
                               const struct spec_run *run)
{
    *rules = (struct spec_rules){.program = program, .run = run};
    spec_find_cancels(rules);
    for (int number = 0; number < SPEC_NUMBERS; number++) {
        if (!spec_exists(rules, number))
            continue;
        spec_order(rules, spec_begin(number), spec_end(number));
        if (number % SPEC_OPS)
            spec_order(rules, spec_end(number - 1), spec_begin(number));
        if (spec_receives(spec_op(rules, number)->kind) && !spec_pair(rules, number))
            return false;
    }
    for (int number = 0; number < SPEC_NUMBERS; number++) {
        if (!spec_exists(rules, number))
            continue;
        if (spec_is_receive(rules, number) && !spec_no_overtaking(rules, number))
            return false;
        if (!spec_seen(rules, number)->ended)
            continue;
        if (!spec_ended(rules, number))
            return false;
        if (spec_op(rules, number)->kind == SPEC_BARRIER && !spec_all_there(rules, number, true))
            return spec_says(rules, "R6: left before all had come", number, number);
    }
    if (!spec_stands_rightly(rules))
        return false;
    if (!spec_probes(rules, 0))
        return spec_says(rules, "no order of all events", 0, 0);
    return true;
}

#endif
