/* program.h: small message-passing programs as data, at random; and what was seen of a run of one.
 *
 * A message is known by its number: the operation that sent it. */
#ifndef SPEC_PROGRAM_H
#define SPEC_PROGRAM_H

#include "tests/dice.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SPEC_RANKS = 4, SPEC_OPS = 16, SPEC_ANY = -1, SPEC_COMMS = 2, SPEC_NONE = -2 };

enum spec_kind {
    SPEC_SEND,
    SPEC_SSEND,
    SPEC_ISEND,
    SPEC_ISSEND,
    SPEC_RECV,
    SPEC_IRECV,
    SPEC_MRECV, /* Mprobe and Mrecv */
    SPEC_SENDRECV,
    SPEC_PROBE,
    SPEC_IPROBE,
    SPEC_WAIT, /* for one request */
    SPEC_TEST,
    SPEC_CANCEL,
    SPEC_WAITANY, /* among all requests of the rank so far */
    SPEC_WAITSOME,
    SPEC_TESTANY,
    SPEC_TESTSOME,
    SPEC_TESTALL,
    SPEC_WAITALL, /* for all of them */
    SPEC_BARRIER,
    SPEC_KINDS
};

struct spec_op {
    enum spec_kind kind;
    int to, send_tag; /* of what sends */
    int from, tag;    /* of what receives or probes; SPEC_ANY */
    int comm;         /* 0: the world, 1: a duplicate of it */
    int request;      /* the operation of this rank that started the request */
    bool persistent;  /* by an inactive request and Start */
};

struct spec_program {
    int ranks, count[SPEC_RANKS];
    struct spec_op ops[SPEC_RANKS][SPEC_OPS];
    bool sends_wait; /* every send completes only when it has met its receive */
};

/* What a run showed of an operation. */
struct spec_seen {
    bool begun, ended;
    int message;     /* what a receive's buffer holds, SPEC_NONE: nothing */
    int source, tag; /* of a status, SPEC_NONE: not seen */
    bool flag;       /* of tests and Iprobe */
    unsigned some;   /* of Waitsome and its like: a bit for each operation it completed */
    int index; /* of Waitany: the operation that started the request, SPEC_NONE: none was active */
    bool cancelled;
};

struct spec_run {
    bool finished; /* the machine's word: else it was a deadlock */
    struct spec_seen seen[SPEC_RANKS][SPEC_OPS];
};

static inline bool spec_sends(enum spec_kind kind)
{
    return kind <= SPEC_ISSEND || kind == SPEC_SENDRECV;
}

static inline bool spec_receives(enum spec_kind kind)
{
    return kind >= SPEC_RECV && kind <= SPEC_SENDRECV;
}

static inline bool spec_starts(enum spec_kind kind)
{
    return kind == SPEC_ISEND || kind == SPEC_ISSEND || kind == SPEC_IRECV;
}

static inline int spec_number(int rank, int op)
{
    return rank * SPEC_OPS + op;
}

/* ---- at random ---- */

static inline void spec_add(struct spec_program *program, int rank, struct spec_op op)
{
    if (program->count[rank] < SPEC_OPS - 1) /* one is left for the last Waitall */
        program->ops[rank][program->count[rank]++] = op;
}

static inline bool spec_chance(uint64_t *dice, uint32_t one_in)
{
    return dice_below(dice, one_in) == 0;
}

/* A message and who takes it: a pair that fits when made. */
static inline void spec_add_message(struct spec_program *program, uint64_t *dice, bool wild)
{
    static const enum spec_kind sends[] = {SPEC_SEND,  SPEC_SEND,   SPEC_ISEND, SPEC_ISEND,
                                           SPEC_SSEND, SPEC_ISSEND, SPEC_ISEND};
    static const enum spec_kind receives[] = {SPEC_RECV,  SPEC_RECV,  SPEC_IRECV,
                                              SPEC_IRECV, SPEC_IRECV, SPEC_MRECV};
    int from = (int)dice_below(dice, (uint32_t)program->ranks);
    int to = (int)dice_below(dice, (uint32_t)program->ranks);
    if (from == to && !spec_chance(dice, 4))
        to = (to + 1) % program->ranks;
    struct spec_op send = {.kind = sends[dice_below(dice, 7)],
                           .to = to,
                           .send_tag = (int)dice_below(dice, 2),
                           .comm = spec_chance(dice, 4),
                           .persistent = spec_chance(dice, 5)};
    struct spec_op receive = {.kind = receives[dice_below(dice, 6)],
                              .from = wild && spec_chance(dice, 2) ? SPEC_ANY : from,
                              .tag = spec_chance(dice, 3) ? SPEC_ANY : send.send_tag,
                              .comm = send.comm,
                              .persistent = spec_chance(dice, 5)};
    struct spec_op probe = receive;
    probe.kind = spec_chance(dice, 2) ? SPEC_PROBE : SPEC_IPROBE;
    if (spec_chance(dice, 6))
        send.send_tag = 1 - send.send_tag;
    if (spec_chance(dice, 8) && from != to) { /* both at once, with who answers it */
        struct spec_op both = send, answer = receive;
        both.kind = answer.kind = SPEC_SENDRECV;
        both.from = to;
        both.tag = SPEC_ANY;
        answer.to = from;
        answer.send_tag = (int)dice_below(dice, 2);
        spec_add(program, from, both);
        spec_add(program, to, answer);
        return;
    }
    spec_add(program, from, send);
    if (spec_chance(dice, 5))
        spec_add(program, to, probe);
    spec_add(program, to, receive);
}

/* Something that looks at requests made so far. */
static inline void spec_add_wait(struct spec_program *program, uint64_t *dice, int rank)
{
    static const enum spec_kind kinds[] = {SPEC_WAIT,     SPEC_WAIT,   SPEC_TEST,     SPEC_WAITANY,
                                           SPEC_WAITALL,  SPEC_CANCEL, SPEC_WAITSOME, SPEC_TESTANY,
                                           SPEC_TESTSOME, SPEC_TESTALL};
    int started[SPEC_OPS], count = 0;
    for (int i = 0; i < program->count[rank]; i++)
        if (spec_starts(program->ops[rank][i].kind))
            started[count++] = i;
    if (!count)
        return;
    struct spec_op op = {.kind = kinds[dice_below(dice, 10)],
                         .request = started[dice_below(dice, (uint32_t)count)]};
    if (op.kind != SPEC_CANCEL || program->ops[rank][op.request].kind == SPEC_IRECV)
        spec_add(program, rank, op);
}

/* Two neighbours change places, unless one refers to the other. */
static inline void spec_swap(struct spec_program *program, uint64_t *dice, int rank)
{
    struct spec_op *ops = program->ops[rank];
    if (program->count[rank] < 2)
        return;
    int i = (int)dice_below(dice, (uint32_t)program->count[rank] - 1);
    for (int k = i; k < program->count[rank]; k++)
        if (ops[k].kind >= SPEC_WAIT && ops[k].kind < SPEC_BARRIER)
            return;
    struct spec_op op = ops[i];
    ops[i] = ops[i + 1];
    ops[i + 1] = op;
}

static inline void spec_random(struct spec_program *program, uint64_t seed)
{
    uint64_t dice = seed * 0x9e3779b97f4a7c15u;
    memset(program, 0, sizeof *program);
    program->ranks = 2 + (int)dice_below(&dice, SPEC_RANKS - 1);
    program->sends_wait = spec_chance(&dice, 3);
    bool wild = !spec_chance(&dice, 4);
    int messages = 1 + (int)dice_below(&dice, 8);
    for (int i = 0; i < messages; i++) {
        spec_add_message(program, &dice, wild);
        for (int rank = 0; rank < program->ranks; rank++) {
            if (spec_chance(&dice, 4))
                spec_swap(program, &dice, rank);
            if (spec_chance(&dice, 6))
                spec_add_wait(program, &dice, rank);
        }
        if (spec_chance(&dice, 8))
            for (int rank = 0, comm = (int)dice_below(&dice, 2); rank < program->ranks; rank++)
                spec_add(program, rank, (struct spec_op){.kind = SPEC_BARRIER, .comm = comm});
    }
    for (int rank = 0; rank < program->ranks; rank++)
        program->ops[rank][program->count[rank]++] = (struct spec_op){.kind = SPEC_WAITALL};
}

/* ---- for people ---- */

static inline void spec_print(const struct spec_program *program, const struct spec_run *run)
{
    static const char *const names[] = {"Send",    "Ssend",    "Isend",    "Issend",  "Recv",
                                        "Irecv",   "Mrecv",    "Sendrecv", "Probe",   "Iprobe",
                                        "Wait",    "Test",     "Cancel",   "Waitany", "Waitsome",
                                        "Testany", "Testsome", "Testall",  "Waitall", "Barrier"};
    printf("# %d ranks, sends %s: %s\n", program->ranks,
           program->sends_wait ? "wait" : "are buffered", run->finished ? "finished" : "deadlock");
    for (int rank = 0; rank < program->ranks; rank++)
        for (int i = 0; i < program->count[rank]; i++) {
            const struct spec_op *op = &program->ops[rank][i];
            const struct spec_seen *seen = &run->seen[rank][i];
            printf("#   rank %d, %d: %s%s", rank, i, names[op->kind],
                   op->persistent && spec_starts(op->kind) ? " (persistent)" : "");
            if (spec_sends(op->kind))
                printf(" to %d tag %d (message %d)", op->to, op->send_tag, spec_number(rank, i));
            if (spec_receives(op->kind) || op->kind == SPEC_PROBE || op->kind == SPEC_IPROBE)
                printf(" from %d tag %d", op->from, op->tag);
            if (op->kind >= SPEC_WAIT && op->kind <= SPEC_CANCEL)
                printf(" of %d", op->request);
            printf(" comm %d: %s, message %d, source %d tag %d, flag %d, index %d%s\n", op->comm,
                   seen->ended   ? "ended"
                   : seen->begun ? "stands"
                                 : "never",
                   seen->message, seen->source, seen->tag, seen->flag, seen->index,
                   seen->cancelled ? ", cancelled" : "");
        }
}

#endif
