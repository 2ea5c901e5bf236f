/* Calls of collectives that meet otherwise than their ranks meant: nothing of another type, counts that are not all there, two calls made in
 * another order, a call that MPI refused, one call on two communicators. Each table says what is so by MPI's chapter on collectives. Beside them
 * requests that were freed: what is in order, and what is not though it stands at the same place. */
#include "checker/places.h"
#include "checker/properties.h"
#include "tests/change_op.h"
#include "tests/checker/check_program.h"

#include <string.h>

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

static size_t count_of(const struct findings *findings, const char *code)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++)
        count += strcmp(findings->items[i].code, code) == 0;
    return count;
}

static const struct finding *find(const struct findings *findings, const char *code)
{
    for (size_t i = 0; i < findings->count; i++)
        if (strcmp(findings->items[i].code, code) == 0)
            return &findings->items[i];
    return NULL;
}

static uint32_t call(struct program *p, uint32_t rank, enum op_kind kind, uint32_t comm,
                     uint32_t seq, int line)
{
    uint32_t op = program_collective(p, rank, kind, comm, seq, line);
    if (kind == OP_BCAST || kind == OP_GATHER || kind == OP_SCATTER || kind == OP_REDUCE ||
        kind == OP_GATHERV || kind == OP_SCATTERV)
        p->trace->ops[op].peer = 0;
    return op;
}

/* A type signature is a sequence of basic types: nothing of one type is nothing of another. */
static void nothing_of_another_type(void)
{
    static const enum op_kind kinds[] = {
        OP_BCAST,     OP_GATHER,   OP_SCATTER, OP_REDUCE, OP_ALLREDUCE,
        OP_ALLGATHER, OP_ALLTOALL, OP_SCAN,    OP_EXSCAN, OP_REDUCE_SCATTER_BLOCK};
    static const int64_t counts[] = {0, 1, 3};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        char got[80] = "";
        for (unsigned way = 0; way < 18; way++) {
            const int64_t one = counts[way % 3], other = counts[way / 3 % 3];
            const bool types = way / 9;
            struct program p = program_new(2);
            struct findings findings;
            for (uint32_t rank = 0; rank < 2; rank++) {
                uint32_t op = call(&p, rank, kinds[k], p.world, 0, 1 + (int)rank);
                CHANGE_OP(p.trace, op, count, rank ? other : one);
                if (rank && types) {
                    CHANGE_OP(p.trace, op, type, PROGRAM_DOUBLE + 1);
                    CHANGE_OP(p.trace, op, signature, 2);
                }
            }
            p.trace->outcome = OUTCOME_FINISHED;
            program_finish(&p);
            ask(&p, check_collective, &findings);
            const char *wanted = types && one && other ? "M004" : one != other ? "M005" : "";
            const char *is = findings.count ? findings.items[0].code : "";
            if (strcmp(wanted, is) != 0 || findings.count > 1)
                snprintf(got, sizeof got, "%d against %d, %s types: %s", (int)one, (int)other,
                         types ? "other" : "the same", is);
            findings_release(&findings);
            trace_free(p.trace);
        }
        tap_is_str(got, "", "%s of counts and types", op_kind_name((int)kinds[k]));
    }
}

/* What is there of one rank's counts ends before what differs. */
static void counts_that_end(void)
{
    static const struct {
        enum op_kind kind;
        bool pairs;
    } rows[] = {{OP_ALLGATHERV, false},
                {OP_REDUCE_SCATTER, false},
                {OP_ALLTOALLV, true},
                {OP_ALLTOALLW, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint32_t cut = 0; cut < 4; cut++) { /* whose counts end: nobody's, 0's, 1's, both */
            struct program p = program_new(3);
            struct findings findings;
            for (uint32_t rank = 0; rank < 3; rank++) {
                const int64_t values[3] = {5, 5, 5 + (rank == 1)};
                uint32_t op = call(&p, rank, rows[i].kind, p.world, 0, 1 + (int)rank);
                CHANGE_OP(p.trace, op, count, 15);
                trace_add_counts(p.trace, op, rank < 2 && cut >> rank & 1 ? 2 : 3,
                                 rows[i].pairs ? values : NULL,
                                 rank == 2 && !rows[i].pairs ? NULL : values);
            }
            p.trace->outcome = OUTCOME_FINISHED;
            program_finish(&p);
            ask(&p, check_collective, &findings);
            /* of the pairs, 1 sends 2 one more, and receives one more of 2, than 2 says */
            const bool differ = rows[i].pairs ? !(cut & 2) : !cut;
            tap_is_int(findings.count, differ, "%s, counts that end: %u",
                       op_kind_name((int)rows[i].kind), cut);
            findings_release(&findings);
            trace_free(p.trace);
        }
}

/* Rank 1 makes two calls in another order than rank 0: they meet wrongly twice, and it is one mistake; but not where the second pair is another
 * one, of another communicator, not the next, or in another form. */
static void made_in_another_order(void)
{
    enum { A, B };
    static const struct {
        const char *name;
        struct {
            enum op_kind mine, theirs;
            int comm;
            bool starts;
        } calls[3];
        bool one; /* mistake */
    } rows[] = {
        {"exchanged", {{OP_BARRIER, OP_SCAN, A, false}, {OP_SCAN, OP_BARRIER, A, false}}, true},
        {"exchanged, on two communicators",
         {{OP_BARRIER, OP_SCAN, A, false},
          {OP_SCAN, OP_SCAN, B, false},
          {OP_SCAN, OP_BARRIER, B, false}},
         false},
        {"exchanged, with one between",
         {{OP_BARRIER, OP_SCAN, A, false},
          {OP_EXSCAN, OP_EXSCAN, A, false},
          {OP_SCAN, OP_BARRIER, A, false}},
         false},
        {"not back: mine",
         {{OP_BARRIER, OP_SCAN, A, false}, {OP_EXSCAN, OP_BARRIER, A, false}},
         false},
        {"not back: theirs",
         {{OP_BARRIER, OP_SCAN, A, false}, {OP_SCAN, OP_EXSCAN, A, false}},
         false},
        {"the same again",
         {{OP_BARRIER, OP_SCAN, A, false}, {OP_BARRIER, OP_SCAN, A, false}},
         false},
        {"in another form",
         {{OP_BARRIER, OP_SCAN, A, false}, {OP_SCAN, OP_BARRIER, A, true}},
         false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int tensors = 0; tensors < 2; tensors++) {
            static const int32_t members[] = {0, 1};
            struct program p = program_new(2);
            struct findings findings;
            uint32_t comms[2] = {p.world, program_comm(&p, 2, members)};
            for (uint32_t rank = 0; rank < 2; rank++) {
                uint32_t seq[2] = {0, 0};
                for (size_t k = 0; k < 3 && rows[i].calls[k].mine; k++) {
                    int comm = rows[i].calls[k].comm;
                    uint32_t op =
                        call(&p, rank, rank ? rows[i].calls[k].theirs : rows[i].calls[k].mine,
                             comms[comm], seq[comm]++, 10 * (int)(rank + 1) + (int)k);
                    CHANGE_OP(p.trace, op, reduce_op, 3);
                    if (tensors)
                        CHANGE_OP(p.trace, op, identity, 7 + rank);
                    if (rows[i].calls[k].starts && rank) {
                        CHANGE_OP(p.trace, op, flags, OP_NONBLOCKING);
                        program_wait(&p, rank, op, 3);
                    }
                }
            }
            p.trace->outcome = OUTCOME_FINISHED;
            program_finish(&p);
            ask(&p, check_collective, &findings);
            const struct finding *is = find(&findings, "M001"), *other = find(&findings, "R002");
            tap_is_int(count_of(&findings, "M001"), rows[i].one ? 1 : 2, "%s%s", rows[i].name,
                       tensors ? ", of tensors" : "");
            tap_is_int(is ? is->op_count : 0, rows[i].one ? 3 : 2, "%s: the calls it names",
                       rows[i].name);
            tap_is_int(other ? other->op_count : 0, tensors ? 2 : 0,
                       "%s: the tensors are by themselves", rows[i].name);
            findings_release(&findings);
            trace_free(p.trace);
        }
}

/* What MPI refused says nothing: of the others, who says something else than most is the odd one, wherever the refused call stands. Digits are
 * counts, r one that was refused. */
static void refused_among_them(void)
{
    static const struct {
        const char *say;
        int culprit, partner; /* -1: nothing is told */
    } rows[] = {
        {"45r55", 0, 1}, {"455r5", 0, 1},  {"4r555", 0, 2}, {"44r5", 3, 0},     {"444r5", 4, 0},
        {"4455r", 2, 0}, {"44r4", -1, -1}, {"54r44", 0, 1}, {"5r4r4r44", 0, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t ranks = (uint32_t)strlen(rows[i].say);
        struct program p = program_new(ranks);
        struct findings findings;
        char text[] = "refused";
        for (uint32_t rank = 0; rank < ranks; rank++) {
            uint32_t op = call(&p, rank, OP_ALLREDUCE, p.world, 0, 1 + (int)rank);
            bool refused = rows[i].say[rank] == 'r';
            struct trace_note note = {
                .code = "M009", .op = op, .node = TRACE_NO, .site = TRACE_NO, .text = text};
            CHANGE_OP(p.trace, op, count, refused ? 9 : rows[i].say[rank] - '0');
            if (refused) {
                CHANGE_OP(p.trace, op, error, 2);
                trace_add_note(p.trace, &note);
            }
        }
        p.trace->outcome = OUTCOME_FINISHED;
        program_finish(&p);
        ask(&p, check_collective, &findings);
        const struct finding *is = find(&findings, "M005");
        tap_is_int(is ? (int)is->ops[0].op : -1, rows[i].culprit, "%s: the culprit", rows[i].say);
        tap_is_int(is ? (int)is->ops[1].op : -1, rows[i].partner, "%s: its partner", rows[i].say);
        findings_release(&findings);
        trace_free(p.trace);
    }
}

/* ---- one call on two communicators ---- */

enum standing { CALLS, WAITS, WAITS_FOR_MORE, STANDINGS };

/* Rank 0 stands in the call on `a`, rank 1 in one on `b`; each belongs to both. With other counts they are one call where the counts are the
 * root's to give (5.5, 5.6), or where they are one line of the program. */
static void on_two_communicators(void)
{
    static const enum op_kind kinds[] = {OP_BARRIER, OP_BCAST,   OP_REDUCE,   OP_GATHER,
                                         OP_GATHERV, OP_SCATTER, OP_SCATTERV, OP_ALLREDUCE,
                                         OP_SCAN,    OP_ALLTOALL};
    enum {
        PLAIN,
        OTHER_COUNT,
        ONE_LINE,
        OTHER_ROOT,
        PERSISTENT,
        PERSISTENT_ELSEWHERE,
        NEVER,
        WAYS
    };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        char got[80] = "";
        for (int way = 0; way < WAYS * STANDINGS; way++) {
            static const int32_t members[] = {0, 1};
            enum standing standing = (enum standing)(way / WAYS);
            struct program p = program_new(2);
            struct findings findings;
            const int how = way % WAYS;
            uint32_t a = p.world, b = program_comm(&p, 2, members);
            bool rooted = call(&p, 0, kinds[k], a, 0, 90) + 1 && p.trace->ops[0].peer == 0,
                 of_root = kinds[k] == OP_GATHERV || kinds[k] == OP_SCATTERV;
            call(&p, 1, kinds[k], a, 0, 91); /* one that was made by both */
            for (uint32_t rank = 0; rank < 2; rank++) {
                uint32_t more = rank || standing != WAITS_FOR_MORE
                                    ? TRACE_NO
                                    : program_p2p(&p, 0, OP_IRECV, 1, 5, 4);
                uint32_t op = call(&p, rank, kinds[k], rank ? b : a, rank ? 0 : 1,
                                   how == ONE_LINE ? 1 : 1 + (int)rank);
                CHANGE_OP(p.trace, op, count,
                          rank && (how == OTHER_COUNT || how == ONE_LINE) ? 8 : 4);
                if (rank && how == OTHER_ROOT)
                    CHANGE_OP(p.trace, op, peer, rooted ? 1 : TRACE_NONE);
                uint32_t stands = op;
                if (standing != CALLS) {
                    CHANGE_OP(p.trace, op, flags, OP_NONBLOCKING);
                    p.trace->ops[op].state = STATE_POSTED;
                    struct trace_plain_op wait = program_op(&p, rank, OP_WAITALL, 5);
                    wait.comm = TRACE_NO;
                    stands = trace_add_op(p.trace, &wait);
                    if (more != TRACE_NO) {
                        p.trace->ops[more].state = STATE_POSTED;
                        trace_add_wait(p.trace, stands, more, false);
                    }
                    trace_add_wait(p.trace, stands, op, false);
                }
                p.trace->rank_info[rank].state = RANK_BLOCKED;
                p.trace->ops[stands].state = STATE_BLOCKED;
                if (rank && how == NEVER && standing != CALLS)
                    p.trace->ops[op].state = STATE_NEVER;
            }
            if (how == PERSISTENT || how == PERSISTENT_ELSEWHERE) {
                snprintf(p.trace->comms[b].name, sizeof p.trace->comms[b].name,
                         "persistent collective 1 of world");
                p.trace->comms[b].parent = how == PERSISTENT ? a : TRACE_NO;
            }
            p.trace->outcome = OUTCOME_DEADLOCK;
            program_finish(&p);
            ask(&p, check_collective, &findings);
            const bool told = !(how == OTHER_COUNT && !of_root) && !(how == OTHER_ROOT && rooted) &&
                              !(how == NEVER && standing != CALLS);
            const char *wanted = how == PERSISTENT ? "M001" : "M006";
            const struct finding *is = findings.count ? &findings.items[0] : NULL;
            if (findings.count != told ||
                (is && (strcmp(is->code, wanted) != 0 || is->op_count != 2 ||
                        p.trace->ops[is->ops[0].op].rank != 1 || p.trace->ops[is->ops[1].op].rank ||
                        (strstr(is->title, "p.c:2") != NULL) != (how != ONE_LINE))))
                snprintf(got, sizeof got, "way %d, standing %d: %s", how, (int)standing,
                         is ? is->title : "nothing");
            findings_release(&findings);
            trace_free(p.trace);
        }
        tap_is_str(got, "", "%s on two communicators", op_kind_name((int)kinds[k]));
    }
}

/* ---- requests that were freed ---- */

/* A request may be freed while it is active, and a note says that nobody learns of its end; of one that was to be cancelled there is nothing to
 * say. One that was neither freed nor waited for is forgotten, also where others of its place were freed. */
static void freed_requests(void)
{
    static const struct {
        const char *freed, *cancelled; /* of the starts at one place: a 1 for each that is */
        size_t notes, forgotten;       /* that are named */
    } rows[] = {{"0", "0", 0, 1},   {"1", "0", 1, 0},   {"1", "1", 0, 0},      {"10", "00", 1, 1},
                {"01", "00", 1, 1}, {"11", "10", 1, 0}, {"0110", "0100", 1, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program p = program_new(2);
        struct findings findings;
        size_t count = strlen(rows[i].freed), notes = 0, forgotten = 0;
        for (size_t k = 0; k < count; k++) {
            uint32_t start = program_p2p(&p, 0, OP_IRECV, 1, 7, 1);
            for (int free = 0; free < 2; free++) {
                struct trace_plain_op op = program_op(&p, 0, free ? OP_REQUEST_FREE : OP_CANCEL, 2);
                op.comm = TRACE_NO;
                op.request = start;
                if ((free ? rows[i].freed : rows[i].cancelled)[k] == '1')
                    trace_add_op(p.trace, &op);
            }
        }
        p.trace->outcome = OUTCOME_FINISHED;
        program_finish(&p);
        ask(&p, check_leaks, &findings);
        for (size_t f = 0; f < findings.count; f++) {
            bool note = findings.items[f].severity == SEVERITY_NOTE;
            if (strcmp(findings.items[f].code, "L001") == 0)
                *(note ? &notes : &forgotten) += findings.items[f].op_count;
        }
        tap_ok(notes == rows[i].notes && forgotten == rows[i].forgotten && findings.count <= 2,
               "freed %s, cancelled %s: %zu notes, %zu forgotten", rows[i].freed, rows[i].cancelled,
               notes, forgotten);
        findings_release(&findings);
        trace_free(p.trace);
    }
}

int main(void)
{
    nothing_of_another_type();
    counts_that_end();
    made_in_another_order();
    refused_among_them();
    on_two_communicators();
    freed_requests();
    return tap_done();
}
