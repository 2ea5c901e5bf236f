/* What a wait is about is found among its requests however many there are: each case has one request that matters, last of N; what is
 * found of it is what is found where it is last of two. */
#include "tests/checker/check_program.h"

#include <string.h>

enum { OTHERS_MOST = 99 };

enum what {
    MISSING,   /* rank 0 waits for a collective in which rank 1 has no part: it has ended */
    NOTED,     /* the wait for a collective is noted to have met another one */
    TRUNCATED, /* the wait for a receive is noted to have got too long a message */
    LOST,      /* a send that nobody receives, where sends wait for receives */
    CROSSED,   /* both wait for sends before they receive */
    CASES
};

static const struct {
    const char *name, *codes;
} cases[CASES] = {
    [MISSING] = {"a missing participant", "D001"},
    [NOTED] = {"a collective that met another", "M004"},
    [TRUNCATED] = {"a message that is too long", "M007"},
    [LOST] = {"a message that nobody receives", "D003"},
    [CROSSED] = {"sends that wait for each other", "D003"},
};

static uint32_t start(struct program *p, uint32_t rank, enum op_kind kind, int peer, int tag,
                      int line)
{
    return program_p2p(p, rank, kind, peer, tag, line);
}

static void add_note(struct program *p, const char *code, uint32_t op, char *text)
{
    struct trace_note note = {
        .op = op, .node = TRACE_NO, .site = TRACE_NO, .rank = 0, .text = text};
    snprintf(note.code, sizeof note.code, "%s", code);
    trace_add_note(p->trace, &note);
}

/* Rank 0 has received `others` messages when it comes to what matters. */
static struct program program_of(enum what what, uint32_t others)
{
    struct program p = program_new(2);
    uint32_t starts[OTHERS_MOST + 1], wait, last = TRACE_NO;
    char crossing[] = "Allreduce met another", truncated[] = "a message is truncated";
    for (uint32_t i = 0; i < others; i++)
        program_p2p(&p, 1, OP_BSEND, 0, 5, 1);
    for (uint32_t i = 0; i < others; i++)
        starts[i] = start(&p, 0, OP_IRECV, 1, 5, 2);
    if (what == MISSING || what == NOTED) {
        struct trace_plain_op op = program_op(&p, 0, OP_ALLREDUCE, 3);
        op.comm_seq = 0;
        op.reduce_op = 3; /* as program_collective has it */
        op.flags = OP_NONBLOCKING;
        op.state = what == MISSING ? STATE_POSTED : STATE_COMPLETE;
        last = trace_add_op(p.trace, &op);
        if (what == NOTED) {
            op.rank = 1;
            program_wait(&p, 1, trace_add_op(p.trace, &op), 4);
        }
    } else if (what == TRUNCATED) {
        struct trace_plain_op op = program_op(&p, 1, OP_BSEND, 4);
        op.peer = 0;
        op.tag = 6;
        op.count = 9;
        trace_add_op(p.trace, &op);
        last = start(&p, 0, OP_IRECV, 1, 6, 3);
    } else {
        last = start(&p, 0, OP_ISEND, 1, 6, 3);
        if (what == CROSSED)
            program_p2p(&p, 1, OP_SEND, 0, 7, 4);
    }
    starts[others] = last;
    wait = program_waitall(&p, 0, starts, others + 1, 8);
    if (what == CROSSED) {
        program_p2p(&p, 1, OP_RECV, 0, 6, 5);
        program_p2p(&p, 0, OP_RECV, 1, 7, 9);
    }
    if (what == MISSING) {
        p.trace->outcome = OUTCOME_DEADLOCK;
        p.trace->rank_info[0].state = RANK_BLOCKED;
        p.trace->rank_info[1].state = RANK_FINISHED;
        p.trace->ops[wait].state = STATE_BLOCKED;
        p.trace->waits[others].completed = false;
    }
    if (what == NOTED)
        add_note(&p, "M004", wait, crossing);
    if (what == TRUNCATED)
        add_note(&p, "M007", wait, truncated);
    program_finish(&p);
    return p;
}

/* Findings as codes, lines of what they name in which role, and under whom they are folded; the other messages are left out. */
static void tell(const struct program *p, char *text, size_t size)
{
    struct check_options options;
    struct findings findings;
    check_options_init(&options);
    findings_init(&findings);
    check_trace(p->trace, &options, &findings);
    said_trace(p->trace, &options, &findings);
    text[0] = 0;
    for (size_t i = 0; i < findings.count + findings.folded; i++) {
        const struct finding *finding = &findings.items[i];
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s%s%s:", i ? " " : "", finding->code,
                 i < findings.count ? "" : "<", i < findings.count ? "" : finding->because);
        for (size_t k = 0; k < finding->op_count; k++) {
            uint32_t op = finding->ops[k].op;
            int line = op == TRACE_NO ? 0 : p->trace->sites[p->trace->ops[op].form->site].line;
            used = strlen(text);
            if (line > 2)
                snprintf(text + used, size - used, " %s %d", finding->ops[k].role, line);
        }
    }
    findings_release(&findings);
}

int main(void)
{
    static const uint32_t others[] = {2, 7, 8, 15, 16, 63, 64, OTHERS_MOST};
    said_open("long_waits", 60);
    for (enum what what = 0; what < CASES; what++) {
        char few[2000], many[2000];
        struct program p = program_of(what, 1);
        tell(&p, few, sizeof few);
        trace_free(p.trace);
        tap_note("%s: %s", cases[what].name, few);
        tap_ok(strstr(few, cases[what].codes), "%s is found: %s", cases[what].name,
               cases[what].codes);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            p = program_of(what, others[i]);
            tell(&p, many, sizeof many);
            tap_is_str(many, few, "the same where %u other requests come before it", others[i]);
            trace_free(p.trace);
        }
    }
    said_close();
    return tap_done();
}
