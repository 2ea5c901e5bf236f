/* Messages that do not fit their receives, calls that MPI refused, and operations whose buffers meet: every kind of operation in
 * every form, and the borders of each rule; what is right is written down beside each. */
#include "checker/places.h"
#include "checker/properties.h"
#include "tests/change_op.h"
#include "tests/checker/check_program.h"

#include <mpi.h>
#include <string.h>

/* What the one property says. */
static void ask(struct program *p,
                void (*property)(const struct check_context *, struct findings *),
                struct findings *findings)
{
    struct check_options options;
    struct check_context context;
    check_options_init(&options);
    findings_init(findings);
    check_context_init(&context, p->trace, &options);
    property(&context, findings);
    check_context_release(&context);
}

static void set_running(struct program *p, uint32_t rank, bool running)
{
    p->trace->rank_info[rank].state = running ? RANK_RUNNING : RANK_FINISHED;
}

static size_t lines_of(const char *text)
{
    size_t lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* ---- a message and the receive it met ---- */

enum { MIXED = 0, PACKED = 0x207, INT = 0x209, DOUBLE = 0x214 };

struct side {
    uint32_t type;
    int64_t count;
    uint32_t signature;
    int error;
    bool adjoint;
};

static const struct {
    const char *name;
    struct side send, receive;
    const char *code;
} pairs[] = {
    {"alike", {DOUBLE, 4, 7, 0, false}, {DOUBLE, 4, 7, 0, false}, ""},
    {"shorter", {DOUBLE, 3, 7, 0, false}, {DOUBLE, 4, 7, 0, false}, ""},
    {"longer by one", {DOUBLE, 5, 7, 0, false}, {DOUBLE, 4, 7, 0, false}, "M007"},
    {"longer in numbers, not in bytes", {INT, 7, 7, 0, false}, {DOUBLE, 4, 7, 0, false}, ""},
    {"as many bytes, other types", {INT, 8, 7, 0, false}, {DOUBLE, 4, 8, 0, false}, "M008"},
    {"longer and of other types", {INT, 9, 7, 0, false}, {DOUBLE, 4, 8, 0, false}, "M007"},
    {"shorter and of other types", {INT, 1, 7, 0, false}, {DOUBLE, 4, 8, 0, false}, "M008"},
    {"nothing, of another type", {INT, 0, 7, 0, false}, {DOUBLE, 4, 8, 0, false}, ""},
    {"nothing into nothing", {INT, 0, 7, 0, false}, {DOUBLE, 0, 8, 0, false}, ""},
    {"something into nothing", {INT, 1, 7, 0, false}, {INT, 0, 7, 0, false}, "M007"},
    {"sent packed", {PACKED, 4, 7, 0, false}, {DOUBLE, 4, 8, 0, false}, ""},
    {"received packed", {INT, 1, 7, 0, false}, {PACKED, 4, 8, 0, false}, ""},
    {"sent without a signature", {INT, 1, 0, 0, false}, {DOUBLE, 4, 8, 0, false}, ""},
    {"received without a signature", {INT, 1, 7, 0, false}, {DOUBLE, 4, 0, 0, false}, ""},
    {"into mixed room, shorter", {INT, 4, 7, 0, false}, {MIXED, 20, 8, 0, false}, ""},
    {"into mixed room, as long", {INT, 5, 7, 0, false}, {MIXED, 20, 8, 0, false}, "M008"},
    {"mixed into mixed room, as long", {MIXED, 20, 7, 0, false}, {MIXED, 20, 8, 0, false}, "M008"},
    {"mixed into room of one type", {MIXED, 16, 7, 0, false}, {DOUBLE, 4, 8, 0, false}, "M008"},
    {"truncated, as MPI says",
     {DOUBLE, 4, 7, 0, false},
     {DOUBLE, 4, 7, MPI_ERR_TRUNCATE, false},
     "M007"},
    {"the receive was refused",
     {DOUBLE, 5, 7, 0, false},
     {DOUBLE, 4, 8, MPI_ERR_TYPE, false},
     "M009"},
    {"the send was refused", {DOUBLE, 5, 7, MPI_ERR_TYPE, false}, {DOUBLE, 4, 8, 0, false}, "M009"},
    {"the receive failed", {DOUBLE, 5, 7, 0, false}, {DOUBLE, 4, 8, MPI_ERR_OTHER, false}, ""},
    {"an adjoint's send", {DOUBLE, 4, 7, 0, true}, {DOUBLE, 4, 7, 0, false}, "R005"},
    {"an adjoint's receive", {DOUBLE, 5, 7, 0, false}, {DOUBLE, 4, 7, 0, true}, "R005"},
    {"both are an adjoint's", {DOUBLE, 4, 7, 0, true}, {DOUBLE, 4, 7, 0, true}, ""},
    {"both are an adjoint's, longer", {DOUBLE, 5, 7, 0, true}, {DOUBLE, 4, 7, 0, true}, "M007"},
};

static struct trace_plain_op op_of(struct program *p, uint32_t rank, enum op_kind kind,
                                   const struct side *side, int line)
{
    struct trace_plain_op op = program_op(p, rank, kind, line);
    op.peer = 1 - (int)rank;
    op.tag = 0;
    op.type = side->type;
    op.count = side->count;
    op.signature = side->signature;
    op.error = (uint8_t)side->error;
    op.flags = side->adjoint ? OP_ADJOINT : 0;
    return op;
}

static void messages_and_receives(void)
{
    static const enum op_kind sends[] = {OP_SEND, OP_SSEND, OP_BSEND, OP_RSEND, OP_ISEND};
    static const enum op_kind receives[] = {OP_RECV, OP_IRECV};
    static const size_t often[] = {1, 2, PLACES_LISTED_MAX, PLACES_LISTED_MAX + 2};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char got[80] = "", wanted[80] = "";
        size_t ops = 0, lines = 0, wanted_ops = 0, wanted_lines = 0;
        for (size_t k = 0; k < sizeof sends / sizeof *sends * 2; k++)
            for (size_t n = 0; n < sizeof often / sizeof *often; n++) {
                struct program p = program_new(2);
                struct findings findings;
                for (size_t times = 0; times < often[n]; times++) {
                    struct trace_plain_op op = op_of(&p, 0, sends[k / 2], &pairs[i].send, 1);
                    trace_add_op(p.trace, &op);
                    op = op_of(&p, 1, receives[k % 2], &pairs[i].receive, 2);
                    trace_add_op(p.trace, &op);
                }
                program_finish_said(&p);
                for (uint32_t op = 0; op < often[n]; op++) { /* also what MPI refused */
                    p.trace->ops[op].match = op + (uint32_t)often[n];
                    p.trace->ops[op + often[n]].match = op;
                }
                ask(&p, check_p2p, &findings);
                bool refused = !strcmp(pairs[i].code, "M009");
                const struct finding *is = findings.count == 1 ? &findings.items[0] : NULL;
                if (findings.count != (*pairs[i].code != 0) ||
                    (is && strcmp(is->code, pairs[i].code) != 0))
                    snprintf(got, sizeof got, "%zu, %s", findings.count, is ? is->code : "none");
                ops += is ? is->op_count : 0;
                wanted_ops += is ? often[n] * (refused ? 1 : 2) : 0;
                lines += is ? lines_of(is->detail) : 0;
                size_t told = often[n] < PLACES_LISTED_MAX ? often[n] : PLACES_LISTED_MAX;
                size_t pairs_told =
                    often[n] * 2 < PLACES_LISTED_MAX + 2 ? often[n] : PLACES_LISTED_MAX / 2;
                bool is_long = !strcmp(pairs[i].code, "M007");
                wanted_lines += !is ? 0 : refused ? told : is_long ? 2 * pairs_told : pairs_told;
                for (size_t k2 = 0; is && k2 < is->op_count; k2++) {
                    uint32_t rank = p.trace->ops[is->ops[k2].op].rank;
                    bool culprit = !strcmp(is->ops[k2].role, "culprit");
                    if (refused ? !culprit : culprit != (rank == 1))
                        snprintf(got, sizeof got, "rank %u is %s", rank, is->ops[k2].role);
                }
                if (is && (is->confirmation != CONFIRM_HAPPENED || strlen(is->fingerprint) != 16 ||
                           p.trace->sites[is->site].line != (pairs[i].send.error ? 1 : 2)))
                    snprintf(got, sizeof got, "line %d", p.trace->sites[is->site].line);
                findings_release(&findings);
                trace_free(p.trace);
            }
        tap_is_str(got, wanted, "%s: %s", pairs[i].name,
                   *pairs[i].code ? pairs[i].code : "nothing");
        tap_is_int(ops, wanted_ops, "%s: each is named", pairs[i].name);
        tap_is_int(lines, wanted_lines, "%s: the first of them are told", pairs[i].name);
    }
}

/* What was sent and received is said by its names and lengths, where these are known. */
static void words_of_messages(void)
{
    static const struct {
        struct side send, receive;
        const char *title, *detail; /* detail NULL: no length is told */
    } rows[] = {
        {{INT, 8, 7, 0, false},
         {DOUBLE, 4, 8, 0, false},
         "a message of int is received as double",
         NULL},
        {{MIXED, 20, 7, 0, false},
         {MIXED, 20, 8, 0, false},
         "sent and received data types differ",
         NULL},
        {{DOUBLE, 5, 7, 0, false},
         {DOUBLE, 4, 7, 0, false},
         "longer",
         "40 bytes were sent, there is room for 32.\n"},
        {{DOUBLE, -1, 7, 0, false}, {DOUBLE, 4, 7, MPI_ERR_TRUNCATE, false}, "longer", NULL},
        {{INT, 0, 7, 0, false},
         {DOUBLE, 4, 7, MPI_ERR_TRUNCATE, false},
         "longer",
         "0 bytes were sent, there is room for 32.\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program p = program_new(2);
        struct findings findings;
        struct trace_plain_op op = op_of(&p, 0, OP_SEND, &rows[i].send, 1);
        trace_add_op(p.trace, &op);
        op = op_of(&p, 1, OP_RECV, &rows[i].receive, 2);
        trace_add_op(p.trace, &op);
        program_finish_said(&p);
        p.trace->ops[0].match = 1;
        p.trace->ops[1].match = 0;
        ask(&p, check_p2p, &findings);
        const struct finding *is = findings.count == 1 ? &findings.items[0] : NULL;
        tap_ok(is && strstr(is->title, rows[i].title), "row %zu: the title says '%s'", i,
               rows[i].title);
        tap_ok(is && (rows[i].detail ? strstr(is->detail, rows[i].detail) != NULL
                                     : !strstr(is->detail, "bytes")),
               "row %zu: lengths are told where they are known", i);
        findings_release(&findings);
        trace_free(p.trace);
    }
}

/* ---- what MPI refused ---- */

static const struct {
    int class;
    const char *word;
} refused[] = {
    {MPI_ERR_BUFFER, "buffer"},     {MPI_ERR_COUNT, "count"},
    {MPI_ERR_TYPE, "datatype"},     {MPI_ERR_TAG, "tag"},
    {MPI_ERR_COMM, "communicator"}, {MPI_ERR_RANK, "rank"},
    {MPI_ERR_REQUEST, "request"},   {MPI_ERR_ROOT, "root"},
    {MPI_ERR_GROUP, "group"},       {MPI_ERR_OP, "operation"},
    {MPI_ERR_TOPOLOGY, "topology"}, {MPI_ERR_DIMS, "dimensions"},
    {MPI_ERR_ARG, "argument"},      {MPI_ERR_NOT_SAME, "another on another rank"},
};

static void every_class_of_errors(void)
{
    for (int class = 0; class < 64; class ++) {
        struct program p = program_new(2);
        struct findings findings;
        const char *word = NULL;
        for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
            word = refused[i].class == class ? refused[i].word : word;
        struct trace_plain_op op = program_op(&p, 0, OP_SEND, 1);
        op.peer = TRACE_NONE;
        op.error = (uint8_t) class;
        trace_add_op(p.trace, &op);
        program_finish_said(&p);
        ask(&p, check_p2p, &findings);
        tap_ok(findings.count == (word != NULL) &&
                   (!word || (!strcmp(findings.items[0].code, "M009") &&
                              strstr(findings.items[0].title, word) &&
                              strstr(findings.items[0].detail, word))),
               "class %d: %s", class, word ? word : "no argument is wrong");
        findings_release(&findings);
        trace_free(p.trace);
    }
}

/* A Sendrecv is three operations and one call. */
static void refused_at_one_place(void)
{
    static const struct {
        const char *name;
        bool compound;
        int lines[3];
        size_t findings, ops;
    } rows[] = {
        {"a Sendrecv", true, {1, 1, 1}, 1, 1},
        {"two Sendrecvs", true, {1, 1, 2}, 2, 2},
        {"three calls at one line", false, {1, 1, 1}, 1, 3},
        {"three calls", false, {1, 2, 3}, 3, 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program p = program_new(1);
        struct findings findings;
        size_t ops = 0;
        for (int k = 0; k < 3; k++) {
            struct trace_plain_op op = program_op(&p, 0, OP_ISEND, rows[i].lines[k]);
            op.peer = TRACE_NONE;
            op.error = MPI_ERR_TAG;
            op.flags = rows[i].compound ? OP_COMPOUND : 0;
            trace_add_op(p.trace, &op);
        }
        program_finish_said(&p);
        ask(&p, check_p2p, &findings);
        for (size_t k = 0; k < findings.count; k++)
            ops += findings.items[k].op_count;
        tap_is_int(findings.count, rows[i].findings, "%s: so many places", rows[i].name);
        tap_is_int(ops, rows[i].ops, "%s: so many calls", rows[i].name);
        findings_release(&findings);
        trace_free(p.trace);
    }
}

/* ---- buffers that meet ---- */

enum root { NO_ROOT, IS_ROOT, IS_NOT };

/* Whether the operation writes into the buffer that is recorded: what it receives into, or where it receives nothing what it
 * sends. */
static const struct {
    enum op_kind kind;
    enum root root;
    bool in_place, writes, starts;
} uses[] = {
    {OP_ISEND, NO_ROOT, false, false, true},
    {OP_ISSEND, NO_ROOT, false, false, true},
    {OP_IBSEND, NO_ROOT, false, false, true},
    {OP_IRSEND, NO_ROOT, false, false, true},
    {OP_IRECV, NO_ROOT, false, true, true},
    {OP_IMRECV, NO_ROOT, false, true, true},
    {OP_SEND, NO_ROOT, false, false, false},
    {OP_SSEND, NO_ROOT, false, false, false},
    {OP_BSEND, NO_ROOT, false, false, false},
    {OP_RSEND, NO_ROOT, false, false, false},
    {OP_RECV, NO_ROOT, false, true, false},
    {OP_MRECV, NO_ROOT, false, true, false},
    {OP_BCAST, IS_ROOT, false, false, false},
    {OP_BCAST, IS_NOT, false, true, false},
    {OP_REDUCE, IS_ROOT, false, true, false},
    {OP_REDUCE, IS_NOT, false, false, false},
    {OP_REDUCE, IS_ROOT, true, true, false},
    {OP_GATHER, IS_ROOT, false, true, false},
    {OP_GATHER, IS_NOT, false, false, false},
    {OP_GATHERV, IS_ROOT, false, true, false},
    {OP_GATHERV, IS_NOT, false, false, false},
    {OP_GATHER, IS_ROOT, true, true, false},
    {OP_SCATTER, IS_ROOT, false, true, false},
    {OP_SCATTER, IS_ROOT, true, false, false},
    {OP_SCATTER, IS_NOT, false, true, false},
    {OP_SCATTERV, IS_ROOT, false, true, false},
    {OP_SCATTERV, IS_ROOT, true, false, false},
    {OP_SCATTERV, IS_NOT, false, true, false},
    {OP_ALLREDUCE, NO_ROOT, false, true, false},
    {OP_ALLREDUCE, NO_ROOT, true, true, false},
    {OP_ALLGATHER, NO_ROOT, false, true, false},
    {OP_ALLGATHERV, NO_ROOT, false, true, false},
    {OP_ALLTOALL, NO_ROOT, false, true, false},
    {OP_ALLTOALLV, NO_ROOT, false, true, false},
    {OP_ALLTOALLW, NO_ROOT, false, true, false},
    {OP_REDUCE_SCATTER, NO_ROOT, false, true, false},
    {OP_SCAN, NO_ROOT, false, true, false},
    {OP_EXSCAN, NO_ROOT, true, false, false}, /* on the first, which receives nothing */
    {OP_REDUCE_SCATTER_BLOCK, NO_ROOT, false, true, false},
};
enum { USES = sizeof uses / sizeof *uses };

/* The operation on `count` doubles at an address; collectives are blocking, or started. */
static uint32_t use(struct program *p, size_t row, bool starts, uint64_t address, int64_t count,
                    int line)
{
    struct trace_plain_op op = program_op(p, 0, uses[row].kind, line);
    op.peer = uses[row].root == IS_ROOT ? 0 : 1;
    op.tag = 0;
    op.count = count;
    op.place = trace_add_place(p->trace, address, (uint64_t)count * 8);
    op.flags =
        (uses[row].in_place ? OP_IN_PLACE : 0) | (starts && !uses[row].starts ? OP_NONBLOCKING : 0);
    return trace_add_op(p->trace, &op);
}

/* The later is called while the earlier is under way, or was completed, or was never a start. */
static void uses_of_one_buffer(void)
{
    for (size_t one = 0; one < USES; one++) {
        char got[120] = "";
        for (size_t other = 0; other < USES; other++)
            for (int how = 0; how < 3; how++) {
                const bool starts = how < 2;
                if (!starts && op_kind_class((int)uses[one].kind) != CLASS_COLLECTIVE)
                    continue;
                struct program p = program_new(2);
                struct findings findings;
                uint32_t first = use(&p, one, starts, 1000, 4, 1);
                if (how == 1)
                    program_wait(&p, 0, first, 2);
                uint32_t second = use(&p, other, false, 1000, 4, 3);
                if (how == 0)
                    program_wait(&p, 0, first, 4);
                program_finish_said(&p);
                ask(&p, check_buffers, &findings);
                const struct finding *is = findings.count == 1 ? &findings.items[0] : NULL;
                const bool meet = how == 0 && (uses[one].writes || uses[other].writes);
                if (findings.count != meet)
                    snprintf(got, sizeof got, "row %zu, way %d: %zu findings", other, how,
                             findings.count);
                if (is &&
                    (strcmp(is->code, "B002") != 0 || is->op_count != 2 ||
                     is->ops[0].op != second || strcmp(is->ops[0].role, "culprit") != 0 ||
                     is->ops[1].op != first || strcmp(is->ops[1].role, "partner") != 0 ||
                     p.trace->sites[is->site].line != 3 || is->confirmation != CONFIRM_HAPPENED ||
                     !strstr(is->detail,
                             uses[other].writes ? "later one writes" : "earlier one writes")))
                    snprintf(got, sizeof got, "row %zu: %s", other, is->detail);
                findings_release(&findings);
                trace_free(p.trace);
            }
        tap_is_str(got, "", "%s (row %zu) and all that may follow",
                   op_kind_name((int)uses[one].kind), one);
    }
}

/* The earlier receives 4 doubles at 1000; the later sends some somewhere. */
static void borders_of_buffers(void)
{
    static const struct {
        uint64_t address;
        int64_t count;
        bool meet;
    } rows[] = {
        {968, 4, false}, {969, 4, true},   {976, 4, true},  {1000, 0, false}, {1008, 0, false},
        {1000, 1, true}, {1008, 1, true},  {1024, 1, true}, {1031, 1, true},  {1032, 1, false},
        {0, 200, false}, {900, 100, true}, {1, 120, false}, {1, 125, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int strided = 0; strided < 3; strided++) {
            struct program p = program_new(2);
            struct findings findings;
            uint32_t first = use(&p, 4, true, 1000, 4, 1);
            uint32_t second = use(&p, 0, true, rows[i].address, rows[i].count, 2);
            if (strided == 1)
                p.trace->places[p.trace->ops[second].form->place].extent += 8;
            if (strided == 2)
                CHANGE_OP(p.trace, first, type, MIXED);
            program_waitall(&p, 0, (const uint32_t[]){first, second}, 2, 3);
            program_finish_said(&p);
            ask(&p, check_buffers, &findings);
            tap_is_int(findings.count, rows[i].meet && !strided, "%d doubles at %d: %s",
                       (int)rows[i].count, (int)rows[i].address,
                       strided ? "gaps are not told from data" : "as the borders say");
            findings_release(&findings);
            trace_free(p.trace);
        }
}

/* Of many that are under way, up to sixteen are named; of many at one place twelve are told. */
static void many_at_once(void)
{
    static const uint32_t counts[] = {1, 2, 12, 15, 16, 17, 40};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct program p = program_new(2);
        struct findings findings;
        uint32_t starts[64];
        for (uint32_t k = 0; k < counts[i]; k++)
            starts[k] = use(&p, 0, true, 1000 + 8 * k, 1, 1);
        use(&p, 10, false, 1000, counts[i], 2);
        program_waitall(&p, 0, starts, counts[i], 3);
        program_finish_said(&p);
        ask(&p, check_buffers, &findings);
        tap_is_int(findings.count, 1, "%u sends and a receive: one place", counts[i]);
        const size_t named = counts[i] < 16 ? counts[i] : 16;
        tap_is_int(findings.count ? findings.items[0].op_count : 0, 2 * named,
                   "%u sends: so many are named", counts[i]);
        tap_is_int(findings.count ? lines_of(findings.items[0].detail) : 0,
                   named < PLACES_LISTED_MAX / 2 ? named : PLACES_LISTED_MAX / 2,
                   "%u sends: so many are told", counts[i]);
        findings_release(&findings);
        trace_free(p.trace);
    }
}

/* What the machine noted of an operation is not told twice. */
static void noted_by_the_machine(void)
{
    static const struct {
        const char *code;
        int op; /* 0: the earlier, 1: the later, -1: none */
        size_t overlaps, changes;
    } rows[] = {
        {"", -1, 1, 1},    {"B002", 0, 0, 1}, {"B002", 1, 0, 1}, {"B002", -1, 1, 1},
        {"B001", 0, 1, 0}, {"B001", 1, 1, 1}, {"L001", 0, 1, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program p = program_new(2);
        struct findings findings;
        char text[] = "noted";
        size_t overlaps = 0, changes = 0;
        uint32_t ops[2] = {use(&p, 0, true, 1000, 4, 1), use(&p, 10, false, 1000, 4, 2)};
        p.trace->ops[ops[0]].flags |= OP_BUFFER_CHANGED;
        program_wait(&p, 0, ops[0], 3);
        program_finish_said(&p);
        struct trace_note note = {.op = rows[i].op < 0 ? TRACE_NO : ops[rows[i].op],
                                  .node = TRACE_NO,
                                  .site = TRACE_NO,
                                  .text = text};
        snprintf(note.code, sizeof note.code, "%s", rows[i].code);
        if (*rows[i].code)
            trace_add_note(p.trace, &note);
        ask(&p, check_buffers, &findings);
        for (size_t k = 0; k < findings.count; k++) {
            overlaps += !strcmp(findings.items[k].code, "B002");
            changes += !strcmp(findings.items[k].code, "B001");
        }
        tap_is_int(overlaps, rows[i].overlaps, "row %zu: overlaps that are told", i);
        tap_is_int(changes, rows[i].changes, "row %zu: changes that are told", i);
        findings_release(&findings);
        trace_free(p.trace);
    }
}

/* ---- the end of a run ---- */

/* So many receives are pending at Finalize, others were completed, are of no partner or start behind it. */
static void pending_at_the_end(void)
{
    static const struct {
        uint32_t pending, completed, after;
        bool finalizes;
        size_t named;
    } rows[] = {{0, 3, 0, true, 0},   {1, 0, 0, true, 1},  {1, 1, 1, true, 1}, {12, 0, 0, true, 12},
                {13, 2, 2, true, 13}, {2, 1, 0, false, 0}, {0, 0, 2, true, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program p = program_new(2);
        struct findings findings;
        for (uint32_t k = 0; k < rows[i].completed; k++)
            program_wait(&p, 0, program_p2p(&p, 0, OP_IRECV, 1, 0, 1), 2);
        for (uint32_t k = 0; k < rows[i].pending + rows[i].after; k++) {
            if (k == rows[i].pending && rows[i].finalizes)
                program_collective(&p, 0, OP_FINALIZE, p.world, 0, 4);
            uint32_t op = program_p2p(&p, 0, OP_IRECV, 1, 0, 3);
            p.trace->ops[op].state = STATE_POSTED;
        }
        if (rows[i].finalizes && !rows[i].after)
            program_collective(&p, 0, OP_FINALIZE, p.world, 0, 4);
        p.trace->outcome = OUTCOME_FINISHED;
        program_finish_said(&p);
        ask(&p, check_crash, &findings);
        const struct finding *is = findings.count == 1 ? &findings.items[0] : NULL;
        tap_is_str(is ? is->code : "", rows[i].named ? "X006" : "", "%u pending at the end",
                   rows[i].pending);
        tap_is_int(is ? is->op_count : 0, rows[i].named, "all of them are named");
        tap_is_int(is ? lines_of(is->detail) : 0,
                   rows[i].named < PLACES_LISTED_MAX ? rows[i].named : PLACES_LISTED_MAX,
                   "and a dozen told");
        findings_release(&findings);
        trace_free(p.trace);
    }
}

/* Records of another MPI that stop: so many ranks still ran, behind those that had ended. */
static void records_that_stop(void)
{
    static const struct {
        uint32_t ended, running;
        bool imported;
    } rows[] = {{0, 1, true},  {3, 0, true},  {2, 2, true},
                {1, 12, true}, {1, 13, true}, {1, 2, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program p = program_new(rows[i].ended + rows[i].running);
        struct findings findings;
        for (uint32_t rank = 0; rank < rows[i].ended + rows[i].running; rank++) {
            program_collective(&p, rank, OP_BARRIER, p.world, 0, 10 + (int)rank);
            set_running(&p, rank, rank >= rows[i].ended);
        }
        p.trace->outcome = rows[i].imported ? OUTCOME_IMPORTED : OUTCOME_FINISHED;
        program_finish_said(&p);
        ask(&p, check_crash, &findings);
        const struct finding *is = findings.count == 1 ? &findings.items[0] : NULL;
        const bool told = rows[i].imported && rows[i].running;
        tap_is_str(is ? is->code : "", told ? "N001" : "", "%u records stop", rows[i].running);
        if (told && is) {
            tap_is_int(is->op_count, rows[i].running, "all of them are named");
            tap_is_int(lines_of(is->detail),
                       rows[i].running < PLACES_LISTED_MAX ? rows[i].running : PLACES_LISTED_MAX,
                       "and a dozen told");
            tap_is_int(p.trace->sites[is->site].line, 10 + (int)rows[i].ended,
                       "it stands where the first stopped");
        }
        findings_release(&findings);
        trace_free(p.trace);
    }
}

/* ---- collectives: who is missing, and vectors of counts that are not there ---- */

/* Of the members of a communicator, `missing` from `first` on never call; a dozen of each are told. */
static void missing_members(void)
{
    static const struct {
        uint32_t size, missing, first;
    } rows[] = {{2, 1, 0},   {2, 1, 1},   {3, 2, 1},   {13, 12, 0}, {13, 12, 1},
                {14, 13, 0}, {20, 13, 3}, {30, 15, 9}, {14, 1, 13}, {13, 1, 6}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program p = program_new(rows[i].size);
        struct findings findings;
        uint32_t present = rows[i].size - rows[i].missing;
        bool all = true;
        for (uint32_t rank = 0; rank < rows[i].size; rank++)
            if (rank < rows[i].first || rank >= rows[i].first + rows[i].missing)
                program_collective(&p, rank, OP_BARRIER, p.world, 0, 1);
        p.trace->outcome = OUTCOME_FINISHED;
        program_finish_said(&p);
        ask(&p, check_collective, &findings);
        const struct finding *is = findings.count == 1 ? &findings.items[0] : NULL;
        tap_is_str(is ? is->code : "", "M010", "%u of %u are missing: it is told", rows[i].missing,
                   rows[i].size);
        tap_is_int(is ? is->op_count : 0, present < PLACES_LISTED_MAX ? present : PLACES_LISTED_MAX,
                   "%u of %u are there: the first are named", present, rows[i].size);
        const uint32_t told =
            rows[i].missing < PLACES_LISTED_MAX ? rows[i].missing : PLACES_LISTED_MAX;
        for (uint32_t rank = 0; is && rank < rows[i].size; rank++) {
            char line[40];
            snprintf(line, sizeof line, "\nRank %u never called it.\n", rank);
            bool wanted = rank >= rows[i].first && rank < rows[i].first + told;
            all = all && (strstr(is->detail, line) != NULL) == wanted;
        }
        tap_ok(is && all && lines_of(is->detail) == 1 + told,
               "those of the missing that are told: %u", told);
        findings_release(&findings);
        trace_free(p.trace);
    }
}

/* All that up to seven ranks can say, of three counts: the first that differs from rank 0 is told with it; but where more than
 * half say the same, who does not is the culprit, and the first who does its partner. */
static void who_is_the_odd_one(void)
{
    unsigned wrong = 0, programs = 0;
    for (uint32_t ranks = 2; ranks <= 7; ranks++) {
        unsigned all = 1;
        for (uint32_t rank = 0; rank < ranks; rank++)
            all *= 3;
        for (unsigned code = 0; code < all; code++) {
            struct program p = program_new(ranks);
            struct findings findings;
            int says[7], votes[3] = {0}, most = -1;
            uint32_t first[3] = {7, 7, 7}, differs = 0, culprit, partner;
            unsigned rest = code;
            for (uint32_t rank = 0; rank < ranks; rank++, rest /= 3) {
                says[rank] = (int)(rest % 3);
                votes[says[rank]]++;
                if (first[says[rank]] == 7)
                    first[says[rank]] = rank;
                if (!differs && says[rank] != says[0])
                    differs = rank;
                uint32_t op = program_collective(&p, rank, OP_ALLREDUCE, p.world, 0, 1 + (int)rank);
                p.trace->ops[op].count = 4 + says[rank];
            }
            for (int value = 0; value < 3; value++)
                most = 2 * votes[value] > (int)ranks ? value : most;
            const bool first_is_odd = most >= 0 && says[0] != most;
            culprit = first_is_odd && says[differs] == most ? 0 : differs;
            partner = first_is_odd ? first[most] : 0;
            p.trace->outcome = OUTCOME_FINISHED;
            program_finish_said(&p);
            ask(&p, check_collective, &findings);
            const struct finding *is = findings.count ? &findings.items[0] : NULL;
            const bool right =
                !differs ? !is
                         : findings.count == 1 && !strcmp(is->code, "M005") && is->op_count == 2 &&
                               is->ops[0].op == culprit && !strcmp(is->ops[0].role, "culprit") &&
                               is->ops[1].op == partner && !strcmp(is->ops[1].role, "partner") &&
                               p.trace->sites[is->site].line == 1 + (int)culprit;
            if (!right && !wrong++)
                tap_note("%u ranks, %u: %u against %u, not %u against %u", ranks, code, culprit,
                         partner, is && is->op_count ? is->ops[0].op : 99,
                         is && is->op_count > 1 ? is->ops[1].op : 99);
            programs++;
            findings_release(&findings);
            trace_free(p.trace);
        }
    }
    tap_ok(!wrong && programs > 3000, "in %u programs the odd one is told, and its partner",
           programs);
}

/* What is known of a rank's counts: both vectors, one of them, one that is too short, or nothing. A vector that is not there
 * agrees with everybody; of those that are, rank 1's says something else. */
enum known { BOTH, SENDS, RECEIVES, SHORT, NO_COUNTS, KNOWN };

static void counts_that_are_not_there(void)
{
    static const int64_t same[2] = {5, 5}, other[2] = {6, 6};
    static const struct {
        enum op_kind kind;
        bool sends, receives; /* what rank 0's vectors are compared by */
    } rows[] = {{OP_ALLTOALLV, true, true},
                {OP_ALLTOALLW, true, true},
                {OP_ALLGATHERV, false, true},
                {OP_REDUCE_SCATTER, false, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int code = 0; code < KNOWN * KNOWN; code++) {
            const enum known known[2] = {(enum known)(code % KNOWN), (enum known)(code / KNOWN)};
            struct program p = program_new(2);
            struct findings findings;
            bool sends[2], receives[2], differ;
            for (uint32_t rank = 0; rank < 2; rank++) {
                uint32_t op = program_collective(&p, rank, rows[i].kind, p.world, 0, 1 + (int)rank);
                const int64_t *values = rank ? other : same;
                sends[rank] = known[rank] == BOTH || known[rank] == SENDS;
                receives[rank] =
                    known[rank] == BOTH || known[rank] == RECEIVES || known[rank] == SHORT;
                p.trace->ops[op].count = 10;
                if (known[rank] != NO_COUNTS)
                    trace_add_counts(p.trace, op, known[rank] == SHORT ? 1 : 2,
                                     sends[rank] ? values : NULL, receives[rank] ? values : NULL);
            }
            p.trace->outcome = OUTCOME_FINISHED;
            program_finish_said(&p);
            ask(&p, check_collective, &findings);
            if (rows[i].sends) /* of what the other rank gives this one, and takes of it */
                differ =
                    (sends[0] && receives[1]) || (sends[1] && receives[0] && known[0] != SHORT);
            else
                differ = receives[0] && receives[1];
            tap_ok(findings.count == differ && (!differ || !strcmp(findings.items[0].code, "M005")),
                   "%s, of the ranks is known %d and %d: %s", op_kind_name((int)rows[i].kind),
                   (int)known[0], (int)known[1], differ ? "they disagree" : "nothing is told");
            findings_release(&findings);
            trace_free(p.trace);
        }
}

int main(void)
{
    said_open("check_data", 2);
    words_of_messages();
    pending_at_the_end();
    records_that_stop();
    missing_members();
    who_is_the_odd_one();
    counts_that_are_not_there();
    messages_and_receives();
    every_class_of_errors();
    refused_at_one_place();
    uses_of_one_buffer();
    borders_of_buffers();
    many_at_once();
    noted_by_the_machine();
    said_close();
    return tap_done();
}
