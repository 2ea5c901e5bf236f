/* What operations have in common is kept once (traces/trace/trace.h): whatever is added, matched and changed, each operation says what it
 * was told, and two that say the same of all that a form says share it, and no others do. Against a plain list of what was told. */
#include "tests/dice.h"
#include "tests/tap.h"
#include "traces/trace/trace.h"

#include <string.h>

enum { OPS = 700, CHANGES = 900, RANKS = 2, PASSES = 3 };

static uint64_t dice;
static struct trace_plain_op told[OPS];

static uint32_t below(uint32_t n)
{
    return dice_below(&dice, n);
}

/* Few values of each field, so that many operations are alike; `wide`: so many that few are. */
static struct trace_plain_op op_draw(uint32_t rank, bool wide)
{
    struct trace_plain_op op = trace_op_none(rank, OP_RECV);
    uint32_t one = below(12);
    op.comm = 0;
    op.peer = (int32_t)below(3) - 1;
    op.tag = (int32_t)below(3) - 1;
    op.count = below(4);
    op.type = 0x200 + below(wide ? 40 : 2);
    op.signature = one == 0;
    op.reduce_op = one == 1;
    op.batch = one == 2;
    op.error = one == 3 ? 1 + (int32_t)below(6) * 5 : 0;
    op.identity = one == 4;
    op.thread = one == 5;
    op.pass = one == 6;
    op.site = below(2);
    op.count_matched = (int64_t)below(6) - 1;
    op.peer_matched = below(2) ? op.peer : below(3) ? (int32_t)below(2) : TRACE_NONE;
    op.tag_matched = below(2) ? op.tag : below(3) ? (int32_t)below(2) : TRACE_NONE;
    op.begin = below(1000);
    op.end = op.begin + 1;
    return op;
}

/* All that is said of an operation and is not its own. What it took is told as it was posted, where it is the same. */
static void form_text(const struct trace_plain_op *op, char *text, size_t size)
{
    bool all = op->count_matched == op->count, none = op->count_matched == -1;
    char count[30] = "none", peer[30], tag[30];
    if (!none)
        snprintf(count, sizeof count, all ? "all" : "%lld", (long long)op->count_matched);
    snprintf(peer, sizeof peer, op->peer_matched == op->peer ? "posted" : "%d", op->peer_matched);
    snprintf(tag, sizeof tag, op->tag_matched == op->tag ? "posted" : "%d", op->tag_matched);
    snprintf(text, size, "%u %u %u %u %u %u %u %d %u %u %s %s %s", op->pass, op->comm, op->type,
             op->signature, op->reduce_op, op->batch, op->site, op->error, op->identity, op->thread,
             count, peer, tag);
}

static bool says(const struct trace *trace, uint32_t i)
{
    struct trace_plain_op op = trace_op_plain(trace, i), *was = &told[i];
    return op.rank == was->rank && op.kind == was->kind && op.state == was->state &&
           op.flags == was->flags && op.pass == was->pass && op.comm == was->comm &&
           op.comm_seq == was->comm_seq && op.peer == was->peer && op.tag == was->tag &&
           op.peer_matched == was->peer_matched && op.tag_matched == was->tag_matched &&
           op.count == was->count && op.count_matched == was->count_matched &&
           op.type == was->type && op.signature == was->signature &&
           op.reduce_op == was->reduce_op && op.request == was->request && op.batch == was->batch &&
           op.node == was->node && op.match == was->match && op.site == was->site &&
           op.error == was->error && op.identity == was->identity && op.thread == was->thread &&
           op.place == was->place && op.begin == was->begin && op.end == was->end &&
           op.adjoint_of == was->adjoint_of;
}

static int wrong_ops(const struct trace *trace)
{
    int wrong = 0;
    for (uint32_t i = 0; i < OPS; i++)
        wrong += !says(trace, i);
    return wrong;
}

static int wrong_shares(const struct trace *trace)
{
    static char texts[OPS][160];
    int wrong = 0;
    for (uint32_t i = 0; i < OPS; i++) {
        form_text(&told[i], texts[i], sizeof texts[i]);
        for (uint32_t k = 0; k < i; k++)
            wrong += (trace->ops[i].form == trace->ops[k].form) != !strcmp(texts[i], texts[k]);
    }
    return wrong;
}

static struct trace *filled(void)
{
    struct failure failure;
    struct trace *trace = trace_new(RANKS);
    trace_add_comm(trace, &(struct trace_comm){.id = 1,
                                               .size = RANKS,
                                               .members = (int32_t[]){0, 1},
                                               .parent = TRACE_NO,
                                               .adjoint_of = TRACE_NO});
    trace_add_site(trace, "p.c", 1, "main");
    trace_add_site(trace, "p.c", 2, "main");
    for (uint32_t i = 0; i < OPS; i++)
        trace_add_op(trace, &told[i]);
    if (!trace_finish(trace, &failure))
        tap_note("%s", failure.text);
    return trace;
}

/* What was hashed before a change is not taken for what is there now. */
static bool hashed_anew(const struct trace *trace)
{
    struct trace *other = filled();
    bool same = trace_hash(trace) == trace_hash(other) &&
                trace_rank_hash(trace, 1) == trace_rank_hash(other, 1);
    trace_free(other);
    return same;
}

/* One of them takes another message, or becomes another operation. */
static void change_one(struct trace *trace, bool wide)
{
    uint32_t i = below(OPS);
    if (below(2)) {
        told[i].peer_matched = below(4) ? (int32_t)below(2) : TRACE_NONE;
        told[i].tag_matched = below(4) ? (int32_t)below(2) : TRACE_NONE;
        trace_op_set_matched(trace, i, told[i].peer_matched, told[i].tag_matched);
    } else {
        told[i] = op_draw(told[i].rank, wide);
        trace_op_change(trace, i, &told[i]);
    }
}

/* An error class that an operation has, or had, lies between two others. */
static int wrong_errors(void)
{
    static const int32_t classes[] = {5, 9, 12};
    int wrong = 0;
    for (unsigned set = 0; set < 8; set++) {
        struct trace *trace = trace_new(1);
        for (size_t i = 0; i < 3; i++) {
            struct trace_plain_op op = trace_op_none(0, OP_BARRIER);
            op.error = set >> i & 1 ? classes[i] : 0;
            trace_add_op(trace, &op);
        }
        for (int32_t least = 1; least < 15; least++)
            for (int32_t most = least; most < 15; most++) {
                bool any = false;
                for (size_t i = 0; i < 3; i++)
                    any = any || ((set >> i & 1) && classes[i] >= least && classes[i] <= most);
                wrong += trace_has_error(trace, least, most) != any;
            }
        trace_free(trace);
    }
    return wrong;
}

int main(void)
{
    for (int wide = 0; wide < 2; wide++) {
        const char *many = wide ? "few alike" : "many alike";
        dice = 7 + (uint64_t)wide;
        for (uint32_t i = 0; i < OPS; i++)
            told[i] = op_draw(i >= OPS / 2, wide);
        struct trace *trace = filled();
        tap_is_int(wrong_ops(trace), 0, "%s: each says what it was told", many);
        tap_is_int(wrong_shares(trace), 0, "%s: those that are alike share a form", many);
        int stale = !hashed_anew(trace);
        for (int pass = 0; pass < PASSES; pass++) {
            for (int i = 0; i < CHANGES / PASSES; i++) {
                change_one(trace, wide);
                stale += i % 100 == 0 && !hashed_anew(trace);
            }
            tap_is_int(wrong_ops(trace), 0, "%s: each says what it was told since", many);
            tap_is_int(wrong_shares(trace), 0, "%s: those that became alike share one", many);
        }
        tap_is_int(stale, 0, "%s: the hash is that of the trace as it is", many);
        trace_free(trace);
    }
    tap_is_int(wrong_errors(), 0, "an error between two classes is found where there is one");
    return tap_done();
}
