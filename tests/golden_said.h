/* golden_said.h: all that is said of the programs which a test of the checker writes down, and of the
 * same programs with a few values changed, held against what was said when somebody looked: the test
 * itself asserts codes, this holds places, roles, numbers, repairs and gaps beside them.
 *
 *   said_open("check_order", 100);         rows of tests/golden/said/check_order.tsv; each program is
 *                                          changed so many times
 *   said_trace(trace, &options, &findings) after each check_trace
 *   said_close();                          before tap_done
 *
 * Changed are columns that a trace may have in any combination (trace_check decides); the trace is as
 * it was afterwards. What is changed depends on the row alone, so that a program more or less moves
 * only the rows behind it, and a part (tests/dice.h) is some of the rows. */
#ifndef TESTS_GOLDEN_SAID_H
#define TESTS_GOLDEN_SAID_H

#include "checker/check.h"
#include "tests/dice.h"
#include "tests/golden_trace.h"

/* ABI number of the type that the tests' programs move. */
enum { PROGRAM_DOUBLE = 0x214 };

enum { SAID_A_ROW = 8, SAID_OPS_MAX = 1000 };

static struct {
    struct golden golden;
    bool open;
    uint64_t hash, dice;
    unsigned programs, changes;
    char words[300];
} said_state;

static inline void said_open(const char *name, unsigned changes)
{
    char path[200];
    if (!dice_usual())
        return;
    snprintf(path, sizeof path, "tests/golden/said/%s.tsv", name);
    said_state.golden = golden_open(path);
    said_state.open = true;
    said_state.changes = changes;
    said_state.dice = 1;
}

/* Whether the row of a program is held. */
static inline bool said_takes(unsigned program)
{
    return golden_takes(&said_state.golden, program / SAID_A_ROW);
}

static inline void said_row(void)
{
    char key[30];
    snprintf(key, sizeof key, "%u", (said_state.programs + SAID_A_ROW - 1) / SAID_A_ROW);
    if (said_takes(said_state.programs - 1))
        golden_row(&said_state.golden, key, said_state.words, said_state.hash);
    said_state.words[0] = 0;
    said_state.hash = 0;
    said_state.dice = said_state.programs + 1;
}

static inline uint32_t said_below(uint32_t n)
{
    return dice_below(&said_state.dice, n);
}

/* Another value of one column, mostly one that stands somewhere else in the trace. */
static inline void said_change_op(struct trace *trace)
{
    uint32_t index = said_below((uint32_t)trace->op_count);
    struct trace_plain_op plain = trace_op_plain(trace, index), *op = &plain;
    const struct trace_op *like = &trace->ops[said_below((uint32_t)trace->op_count)];
    uint32_t value = said_below(8);
    switch (said_below(20)) {
    case 0:
        op->state = (uint8_t)(value < 4 ? STATE_COMPLETE : value - 4 + STATE_NEVER);
        break;
    case 1:
        op->flags ^= (uint16_t)(1u << value);
        break;
    case 2:
        op->peer = value ? like->peer : TRACE_NONE;
        break;
    case 3:
        op->tag = value ? like->tag : (int32_t)value;
        break;
    case 4:
        op->count = value < 4 ? like->count : (int64_t)value - 4;
        break;
    case 5:
        op->count_matched = (int64_t)value - 1;
        break;
    case 6:
        op->type = value < 4 ? like->form->type : PROGRAM_DOUBLE + value % 2;
        break;
    case 7:
        op->signature = value;
        break;
    case 8:
        op->reduce_op = value;
        break;
    case 9:
        op->batch = value % 3;
        break;
    case 10:
        op->node = like->rank == op->rank ? like->node : op->node;
        break;
    case 11:
        op->adjoint_of = (uint32_t)(like - trace->ops);
        break;
    case 12:
        op->site = like->form->site;
        break;
    case 13:
        op->error = value < 4 ? 0 : (int32_t)value;
        break;
    case 14:
        op->identity = value % 3;
        break;
    case 15:
        op->thread = value % 2;
        break;
    case 16:
        op->pass = like->rank == op->rank ? like->form->pass : op->pass;
        break;
    case 17: /* the same call, made elsewhere */
        op->comm =
            op_kind_class(like->kind) == op_kind_class(op->kind) ? like->form->comm : op->comm;
        break;
    case 18:
        op->kind = op_kind_class(like->kind) == op_kind_class(op->kind) ? like->kind : op->kind;
        break;
    default:
        op->begin = value * 3;
        op->end = value < 6 ? op->begin + said_below(9) : 0;
    }
    trace_op_change(trace, index, &plain);
}

static inline void said_change_run(struct trace *trace)
{
    uint32_t how = said_below(8), value = said_below(60);
    struct trace_rank *rank = &trace->rank_info[said_below(trace->ranks)];
    if (how < 3)
        trace->outcome = (enum trace_outcome)(value % (OUTCOME_IMPORTED + 1));
    else if (how < 5)
        rank->state = (enum rank_state)(value % (RANK_RUNNING + 1));
    else if (how == 5)
        rank->finalized ^= true;
    else if (how == 6 && trace->node_count)
        trace->nodes[said_below((uint32_t)trace->node_count)].state =
            (uint8_t)(value % (STATE_COMPLETE + 1));
    else if (trace->pass_count)
        trace->passes[said_below((uint32_t)trace->pass_count)].mode ^= PASS_DATA;
}

/* A note more like another one, exchanged with it, or with another digit in `text`, its room. */
static inline void said_change_note(struct trace *trace, char *text, size_t size)
{
    struct trace_note *note = &trace->notes[said_below((uint32_t)trace->note_count)];
    struct trace_note *like = &trace->notes[said_below((uint32_t)trace->note_count)], kept = *note;
    uint32_t how = said_below(6);
    if (how == 0) {
        *note = *like;
        *like = kept;
    } else if (how == 1) {
        note->text = like->text;
    } else if (how == 2) {
        note->rank = like->rank;
        note->op = like->op;
    } else if (how == 3) {
        memcpy(note->code, like->code, sizeof note->code);
    } else if (note->text) {
        snprintf(text, size, "%s", note->text);
        note->text = text;
        for (size_t digits = strcspn(text, "0123456789"); text[digits];
             digits += 1 + strcspn(text + digits + 1, "0123456789"))
            if (said_below(3) == 0)
                text[digits] = (char)('0' + said_below(4));
    }
}

/* What said_change_* may write. */
struct said_kept {
    struct trace_note *notes;
    struct trace_op *ops;
    struct trace_node *nodes;
    struct trace_pass *passes;
    struct trace_rank *rank_info;
    struct coverage *coverage;
    enum trace_outcome outcome;
    uint32_t *adjoints; /* a copy: the table may have been moved */
    size_t adjoint_count;
};

static inline void *said_copy(const void *from, size_t count, size_t size)
{
    void *copy = malloc(count * size + 1);
    if (!copy)
        abort();
    if (count)
        memcpy(copy, from, count * size);
    return copy;
}

static inline void said_changed(struct trace *trace, const struct check_options *options)
{
    struct said_kept kept = {
        trace->notes,        trace->ops,
        trace->nodes,        trace->passes,
        trace->rank_info,    trace->coverage,
        trace->outcome,      said_copy(trace->adjoints, trace->adjoint_count, sizeof(uint32_t)),
        trace->adjoint_count};
    struct coverage coverage;
    struct findings findings;
    struct failure failure;
    char text[300];
    coverage_init(&coverage);
    findings_init(&findings);
    trace->notes = said_copy(kept.notes, trace->note_count, sizeof *kept.notes);
    trace->ops = said_copy(kept.ops, trace->op_count, sizeof *kept.ops);
    trace->nodes = said_copy(kept.nodes, trace->node_count, sizeof *kept.nodes);
    trace->passes = said_copy(kept.passes, trace->pass_count, sizeof *kept.passes);
    trace->rank_info = said_copy(kept.rank_info, trace->ranks, sizeof *kept.rank_info);
    trace->coverage = &coverage;
    for (uint32_t times = 1 + said_below(3); times-- > 0 && trace->op_count;)
        if (trace->note_count && said_below(2))
            said_change_note(trace, text, sizeof text);
        else if (said_below(6))
            said_change_op(trace);
        else
            said_change_run(trace);
    if (trace_check(trace, &failure)) {
        char words[2] = "";
        check_trace(trace, options, &findings);
        said_state.hash =
            golden_mix(said_state.hash, golden_findings(trace, &findings, words, sizeof words));
    }
    findings_release(&findings);
    coverage_release(&coverage);
    free(trace->notes);
    free(trace->ops);
    free(trace->nodes);
    free(trace->passes);
    free(trace->rank_info);
    trace->notes = kept.notes;
    trace->ops = kept.ops;
    trace->nodes = kept.nodes;
    trace->passes = kept.passes;
    trace->rank_info = kept.rank_info;
    trace->coverage = kept.coverage;
    trace->outcome = kept.outcome;
    trace->adjoint_count = kept.adjoint_count;
    if (kept.adjoint_count)
        memcpy(trace->adjoints, kept.adjoints, kept.adjoint_count * sizeof *kept.adjoints);
    free(kept.adjoints);
}

static inline void said_trace(struct trace *trace, const struct check_options *options,
                              const struct findings *findings)
{
    if (!said_state.open)
        return;
    if (said_takes(said_state.programs)) {
        said_state.hash =
            golden_mix(said_state.hash,
                       golden_findings(trace, findings, said_state.words, sizeof said_state.words));
        for (unsigned i = 0; i < said_state.changes && trace->op_count <= SAID_OPS_MAX; i++)
            said_changed(trace, options);
    }
    if (++said_state.programs % SAID_A_ROW == 0)
        said_row();
}

/* The same for who calls no check_trace. */
static inline void said_whole(struct trace *trace)
{
    struct check_options options;
    struct findings findings;
    if (!said_state.open)
        return;
    check_options_init(&options);
    findings_init(&findings);
    check_trace(trace, &options, &findings);
    said_trace(trace, &options, &findings);
    findings_release(&findings);
}

static inline void said_close(void)
{
    if (!said_state.open)
        return;
    if (said_state.programs % SAID_A_ROW)
        said_row();
    golden_close(
        &said_state.golden,
        "what is said of these programs, and of them with values changed, is what was said");
    said_state.open = false;
}

#endif
