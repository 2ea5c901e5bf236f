/* What operations have in common, each kept once: see struct trace_form.
 *
 * A table finds a form by its hash (open addressing, at most half full). Forms lie in the trace's
 * blocks, so operations point to them whatever grows. */
#include "traces/trace/memory.h"
#include "traces/trace/trace.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS_MIN = 64 };

typedef uint64_t form_words[8];
_Static_assert(sizeof(struct trace_form) == sizeof(form_words), "no gaps, so that bytes are equal");

static uint64_t form_hash(const struct trace_form *form)
{
    form_words words;
    memcpy(words, form, sizeof words);
    uint64_t one = words[0] * 0x9e3779b97f4a7c15u ^ words[1] * 0xbf58476d1ce4e5b9u;
    uint64_t two = words[2] * 0x94d049bb133111ebu ^ words[3] * 0xd6e8feb86659fd93u;
    uint64_t three = words[4] * 0xa0761d6478bd642fu ^ words[5] * 0xe7037ed1a0b428dbu;
    uint64_t hash = one ^ (two << 21 | two >> 43) ^ (three << 42 | three >> 22);
    hash ^= (words[6] ^ words[7] << 7 ^ words[7] >> 57) * 0x8ebc6af09c88c6e3u;
    hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static bool same_form(const struct trace_form *one, const struct trace_form *other)
{
    return memcmp(one, other, sizeof *one) == 0;
}

static bool forms_grow(struct trace_store *store)
{
    if (store->form_count * 2 < store->form_slots)
        return true;
    size_t slots = store->form_slots ? store->form_slots * 2 : SLOTS_MIN;
    const struct trace_form **forms = calloc(slots, sizeof *forms);
    if (!forms) {
        store->failed = true;
        return false;
    }
    for (size_t i = 0; i < store->form_slots; i++) {
        if (!store->forms[i])
            continue;
        size_t slot = form_hash(store->forms[i]) & (slots - 1);
        while (forms[slot])
            slot = (slot + 1) & (slots - 1);
        forms[slot] = store->forms[i];
    }
    free(store->forms);
    store->forms = forms;
    store->form_slots = slots;
    return true;
}

/* The one like this; NULL: out of memory. */
static const struct trace_form *form_kept(struct trace_store *store, const struct trace_form *form)
{
    if (!forms_grow(store))
        return NULL;
    size_t slot = form_hash(form) & (store->form_slots - 1);
    for (; store->forms[slot]; slot = (slot + 1) & (store->form_slots - 1))
        if (same_form(store->forms[slot], form))
            return store->forms[slot];
    struct trace_form *kept = trace_memory_take(store, sizeof *kept);
    if (!kept)
        return NULL;
    *kept = *form;
    store->forms[slot] = kept;
    store->form_count++;
    store->passes = store->passes || kept->pass;
    return kept;
}

/* As a form says it. */
static int32_t said(int32_t posted, int32_t matched)
{
    return matched == posted && matched != TRACE_NONE ? FORM_AS_POSTED : matched;
}

bool trace_form_op(struct trace_store *store, const struct trace_plain_op *op, struct trace_op *row)
{
    bool all = op->count_matched == op->count, none = op->count_matched == -1;
    const struct trace_form form = {.pass = op->pass,
                                    .comm = op->comm,
                                    .type = op->type,
                                    .signature = op->signature,
                                    .reduce_op = op->reduce_op,
                                    .batch = op->batch,
                                    .site = op->site,
                                    .error = op->error,
                                    .identity = op->identity,
                                    .thread = op->thread,
                                    .place = op->place,
                                    .matched = none  ? MATCHED_NONE
                                               : all ? MATCHED_ALL
                                                     : MATCHED_OTHER,
                                    .count_matched = none || all ? 0 : op->count_matched,
                                    .peer_matched = said(op->peer, op->peer_matched),
                                    .tag_matched = said(op->tag, op->tag_matched)};
    const struct trace_form *kept = form_kept(store, &form);
    *row = (struct trace_op){.form = kept,
                             .rank = op->rank,
                             .kind = op->kind,
                             .state = op->state,
                             .flags = op->flags,
                             .comm_seq = op->comm_seq,
                             .peer = op->peer,
                             .tag = op->tag,
                             .count = op->count,
                             .request = op->request,
                             .match = op->match,
                             .node = op->node,
                             .begin = op->begin,
                             .end = op->end};
    return kept != NULL;
}

bool trace_has_error(const struct trace *trace, int32_t least, int32_t most)
{
    const struct trace_store *store = trace->store;
    for (size_t i = 0; i < store->form_slots; i++)
        if (store->forms[i] && store->forms[i]->error >= least && store->forms[i]->error <= most)
            return true;
    return false;
}

struct trace_plain_op trace_op_plain(const struct trace *trace, uint32_t index)
{
    const struct trace_op *op = &trace->ops[index];
    const struct trace_form *form = op->form;
    return (struct trace_plain_op){.rank = op->rank,
                                   .seq = trace_op_seq(trace, op),
                                   .kind = op->kind,
                                   .state = op->state,
                                   .flags = op->flags,
                                   .pass = form->pass,
                                   .comm = form->comm,
                                   .comm_seq = op->comm_seq,
                                   .peer = op->peer,
                                   .tag = op->tag,
                                   .peer_matched = trace_op_peer_matched(op),
                                   .tag_matched = trace_op_tag_matched(op),
                                   .count = op->count,
                                   .count_matched = trace_op_count_matched(op),
                                   .type = form->type,
                                   .signature = form->signature,
                                   .reduce_op = form->reduce_op,
                                   .request = op->request,
                                   .batch = form->batch,
                                   .node = op->node,
                                   .adjoint_of = trace_op_adjoint_of(trace, op),
                                   .match = op->match,
                                   .site = form->site,
                                   .error = form->error,
                                   .identity = form->identity,
                                   .thread = form->thread,
                                   .place = form->place,
                                   .begin = op->begin,
                                   .end = op->end};
}

bool trace_op_change(struct trace *trace, uint32_t index, const struct trace_plain_op *op)
{
    struct trace_op row;
    bool kept = trace_form_op(trace->store, op, &row);
    trace_hashes_forget(trace->store);
    if (kept)
        trace->ops[index] = row;
    return kept && trace_op_set_adjoint(trace, index, op->adjoint_of);
}

bool trace_op_set_matched(struct trace *trace, uint32_t index, int32_t peer, int32_t tag)
{
    struct trace_store *store = trace->store;
    struct trace_op *op = &trace->ops[index];
    int32_t peer_said = said(op->peer, peer), tag_said = said(op->tag, tag);
    if (op->form->peer_matched == peer_said && op->form->tag_matched == tag_said)
        return true;
    struct trace_step *step =
        &store->steps[((uintptr_t)op->form / sizeof *op->form) % TRACE_RECENT_STEPS];
    if (step->from != op->form || step->peer != peer_said || step->tag != tag_said) {
        struct trace_form form = *op->form;
        form.peer_matched = peer_said;
        form.tag_matched = tag_said;
        const struct trace_form *kept = form_kept(store, &form);
        if (!kept)
            return false;
        *step = (struct trace_step){op->form, kept, peer_said, tag_said};
    }
    op->form = step->to;
    trace_hashes_forget(store);
    return true;
}
