/* golden_trace.h: hashes over all that a trace and its findings say, but for the words. */
#ifndef TESTS_GOLDEN_TRACE_H
#define TESTS_GOLDEN_TRACE_H

#include "tests/golden.h"
#include "traces/trace/coverage.h"
#include "traces/trace/finding.h"

/* Sites are named by the kinds of what stands there, not by lines of a test that may be edited. */
static inline void golden_sites(struct trace *trace)
{
    for (size_t i = 0; i < trace->site_count; i++)
        trace->sites[i] = (struct trace_site){.file = "golden.c", .function = "body", .line = 1};
    for (size_t i = 0; i < trace->op_count; i++)
        if (trace->ops[i].form->site < trace->site_count)
            trace->sites[trace->ops[i].form->site].line = 100 + trace->ops[i].kind;
}

static inline uint64_t golden_mix_op(uint64_t hash, const struct trace *trace, uint32_t op)
{
    if (op >= trace->op_count)
        return golden_mix(hash, UINT64_MAX);
    return golden_mix(hash,
                      (uint64_t)trace->ops[op].rank << 32 | trace_op_seq(trace, &trace->ops[op]));
}

static inline uint64_t golden_trace(const struct trace *trace)
{
    uint64_t hash = golden_mix(trace->outcome, trace->op_count);
    for (size_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        uint64_t columns[] = {op->rank,
                              trace_op_seq(trace, op),
                              op->kind,
                              op->state,
                              op->flags,
                              op->form->pass,
                              op->form->comm < trace->comm_count ? trace->comms[op->form->comm].id
                                                                 : 0,
                              op->comm_seq,
                              (uint64_t)op->peer,
                              (uint64_t)op->tag,
                              (uint64_t)trace_op_peer_matched(op),
                              (uint64_t)trace_op_tag_matched(op),
                              (uint64_t)op->count,
                              (uint64_t)trace_op_count_matched(op),
                              op->form->type,
                              op->form->signature,
                              op->form->reduce_op,
                              op->form->batch,
                              (uint64_t)op->form->error,
                              op->form->identity,
                              op->form->thread,
                              op->begin,
                              op->end,
                              trace_op_place(trace, op).extent};
        for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
            hash = golden_mix(hash, columns[k]);
        hash = golden_mix_op(hash, trace, op->match);
        hash = golden_mix_op(hash, trace, op->request);
    }
    for (size_t i = 0; i < trace->wait_count; i++) {
        hash = golden_mix_op(hash, trace, trace->waits[i].wait);
        hash = golden_mix_op(hash, trace, trace->waits[i].start);
        hash = golden_mix(hash, trace->waits[i].completed);
    }
    for (size_t i = 0; i < trace->fold_count; i++) {
        hash = golden_mix_op(hash, trace, trace->folds[i].op);
        hash = golden_mix(hash, trace->folds[i].body);
        hash = golden_mix(golden_mix(hash, trace->folds[i].times), trace->folds[i].before);
    }
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        const struct trace_rank *info = &trace->rank_info[rank];
        hash = golden_mix(golden_mix(hash, info->state), info->bytes_sent);
        hash = golden_mix(golden_mix(hash, info->messages_sent), info->finalized);
    }
    return hash;
}

/* The numbers that a text names; how it is worded is for the catalogue's golden files. */
static inline uint64_t golden_mix_numbers(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        if (*text >= '0' && *text <= '9')
            hash = golden_mix(hash, (unsigned char)*text);
        else if (text[1] >= '0' && text[1] <= '9')
            hash = golden_mix(hash, ' ');
    return hash;
}

static inline uint64_t golden_finding(uint64_t hash, const struct trace *trace,
                                      const struct finding *finding)
{
    const char *texts[] = {finding->code,    finding->witness, finding->models,
                           finding->because, finding->root,    finding->fingerprint};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        hash = golden_mix_text(hash, texts[i]);
    hash = golden_mix_numbers(golden_mix_numbers(hash, finding->title), finding->detail);
    hash = golden_mix_numbers(hash, finding->repair);
    hash = golden_mix(golden_mix(hash, finding->severity), finding->confirmation);
    hash = golden_mix(hash, (uint64_t)finding->inherited << 1 | finding->summary);
    for (size_t i = 0; i < finding->op_count; i++) {
        const struct finding_op *op = &finding->ops[i];
        hash = golden_mix_text(golden_mix_op(hash, trace, op->op), op->role);
        hash = golden_mix(hash, op->node == TRACE_NO ? 0 : trace->nodes[op->node].id);
    }
    for (size_t i = 0; i < finding->repair_count; i++)
        hash = golden_mix(golden_mix(hash, finding->repair_edges[i].from),
                          finding->repair_edges[i].to);
    return hash;
}

/* All findings, folded ones too; `words` gets their codes, "+" before those that are folded. */
static inline uint64_t golden_findings(const struct trace *trace, const struct findings *findings,
                                       char *words, size_t size)
{
    uint64_t hash = findings->count;
    size_t used = strlen(words);
    for (size_t i = 0; i < findings->count + findings->folded; i++) {
        hash = golden_finding(hash, trace, &findings->items[i]);
        if (used < size)
            used += (size_t)snprintf(words + used, size - used, " %s%s",
                                     i < findings->count ? "" : "+", findings->items[i].code);
    }
    return golden_mix(hash, coverage_missed(trace_coverage(trace), COVERAGE_COMPLETE));
}

static inline void golden_show(const struct findings *findings)
{
    for (size_t i = 0; i < findings->count + findings->folded; i++)
        tap_note("%s %s: %s %s%s", i < findings->count ? "" : "folded", findings->items[i].code,
                 findings->items[i].title, findings->items[i].detail,
                 findings->items[i].repair ? findings->items[i].repair : "");
}

#endif
