/* Of two findings, one follows from the other where their operations are the same thing: asked for
 * every pair of a few operations, against what a rule's scope says (checker/suppress.h). */
#include "checker/suppress.h"
#include "tests/checker/check_program.h"

#include <mpi.h>

enum { RANKS = 2, EACH = 9, OPS = RANKS * EACH };

struct about {
    uint32_t rank, comm, number; /* of its communicator's collectives, 0 for a send */
    int line;
    bool part; /* of a call that is recorded as several */
};

static struct about about[OPS];

static void add(struct program *program, uint32_t other, uint32_t rank, uint32_t i)
{
    struct about *it = &about[rank * EACH + i];
    bool collective = i % 3 == 2;
    *it = (struct about){rank, i < 6 ? program->world : other, 0, (int)(i / 4), i != 4};
    struct trace_plain_op op =
        program_op(program, rank, collective ? OP_BARRIER : OP_SEND, it->line + 1);
    op.comm = it->comm;
    op.comm_seq = collective ? i / 3 % 2 : 0;
    it->number = collective ? op.comm_seq + 1 : 0;
    op.peer = collective ? TRACE_NONE : (int)(1 - rank);
    op.flags = it->part ? OP_COMPOUND : 0;
    trace_add_op(program->trace, &op);
}

static bool follows(const struct trace *trace, const char *cause, uint32_t a, const char *effect,
                    uint32_t b)
{
    struct findings findings;
    findings_init(&findings);
    finding_op_add(findings_add(&findings, cause, "cause"), a, "culprit");
    finding_op_add(findings_add(&findings, effect, "effect"), b, "culprit");
    for (size_t i = 0; i < findings.count; i++)
        finding_seal(&findings.items[i], trace);
    suppress_consequences(&findings, 0, trace);
    bool folded = findings.count == 1 && findings.folded == 1 &&
                  !strcmp(findings.items[0].code, cause) && !strcmp(findings.items[1].code, effect);
    findings_release(&findings);
    return folded;
}

static bool one_call(uint32_t a, uint32_t b)
{
    uint32_t apart = a < b ? b - a : a - b;
    return a == b || (about[a].part && about[b].part && about[a].rank == about[b].rank &&
                      about[a].line == about[b].line && apart <= 2);
}

static bool one_collective(uint32_t a, uint32_t b)
{
    return about[a].number && about[a].number == about[b].number && about[a].comm == about[b].comm;
}

int main(void)
{
    struct program program = program_new(RANKS);
    uint32_t other = program_comm(&program, RANKS, (int32_t[]){1, 0});
    unsigned wrong[3] = {0}, related[3] = {0};
    for (uint32_t rank = 0; rank < RANKS; rank++)
        for (uint32_t i = 0; i < EACH; i++)
            add(&program, other, rank, i);
    program_finish(&program);
    for (uint32_t a = 0; a < OPS; a++)
        for (uint32_t b = 0; b < OPS; b++) {
            bool call = one_call(a, b), all = call || one_collective(a, b),
                 rank = about[a].rank == about[b].rank;
            wrong[0] += follows(program.trace, "M008", a, "M009", b) != call;
            wrong[1] += follows(program.trace, "M001", a, "M009", b) != all;
            wrong[2] += follows(program.trace, "X004", a, "X001", b) != rank;
            related[0] += call;
            related[1] += all;
            related[2] += rank;
        }
    tap_is_int(wrong[0], 0, "operations: the same one, or parts of one call: %u pairs", related[0]);
    tap_is_int(wrong[1], 0, "collectives: or calls of one: %u pairs", related[1]);
    tap_is_int(wrong[2], 0, "ranks: operations of one: %u pairs", related[2]);
    tap_ok(related[0] > OPS && related[1] > related[0] && related[2] == RANKS * EACH * EACH,
           "each has some pairs, and the ranks' are half of all");
    trace_free(program.trace);
    return tap_done();
}
