/* What the machine notes while a program runs, and how a run that was disturbed is judged: every note
 * of the data of a collective, every way to go on after a failure, and the classes beside them. */
#include "checker/properties.h"
#include "tests/checker/check_program.h"

#include <mpi.h>
#include <string.h>
#include <time.h>

static void note(struct program *p, const char *code, uint32_t op, const char *text)
{
    struct trace_note made = {.op = op, .node = TRACE_NO, .site = TRACE_NO};
    char words[80];
    snprintf(made.code, sizeof made.code, "%s", code);
    snprintf(words, sizeof words, "%s", text);
    made.text = words;
    trace_add_note(p->trace, &made);
}

/* ---- what is judged of a run that was disturbed, or that went on after a failure ---- */

struct disturbed {
    const char *name, *note; /* the note's code */
    int error;               /* of a receive that ended */
    enum op_kind living;     /* a call of those who live, OP_SEND: none */
    enum op_state state;     /* and how it stands */
    bool finalized, judged;
};

/* The last rank dies, or all finalize; a message is lost, which is told where leaks are judged. */
static bool tells_lost(const struct disturbed *run)
{
    struct program p = program_new(3);
    struct check_options options;
    char codes[64];
    program_p2p(&p, 0, OP_SEND, 1, 7, 1);
    struct trace_plain_op ended = program_op(&p, 1, OP_BARRIER, 2);
    ended.error = run->error;
    trace_add_op(p.trace, &ended);
    if (run->living != OP_SEND) {
        struct trace_plain_op call = program_op(&p, 1, run->living, 3);
        call.state = (uint8_t)run->state;
        trace_add_op(p.trace, &call);
    }
    if (run->note)
        note(&p, run->note, TRACE_NO, "noted");
    p.trace->outcome = OUTCOME_FINISHED;
    for (int rank = 0; rank < 3; rank++) {
        p.trace->rank_info[rank].state = RANK_FINISHED;
        p.trace->rank_info[rank].finalized = run->finalized || rank < 2;
    }
    program_finish(&p);
    check_options_init(&options);
    check_options_parse(&options, "leaks", NULL);
    program_codes(&p, &options, codes, sizeof codes);
    trace_free(p.trace);
    return strstr(codes, "L002");
}

static void disturbed_runs(void)
{
    static const struct disturbed runs[] = {
        {"nothing happened", NULL, 0, OP_SEND, STATE_COMPLETE, true, true},
        {"a rank was lost and nobody minded", NULL, 0, OP_SEND, STATE_COMPLETE, false, true},
        {"a fault was injected", "X010", 0, OP_SEND, STATE_COMPLETE, true, false},
        {"a fault was injected and a rank lost", "X010", 0, OP_SEND, STATE_COMPLETE, false, false},
        {"another note", "X011", 0, OP_SEND, STATE_COMPLETE, true, true},
        {"the class before", NULL, 100, OP_SEND, STATE_COMPLETE, true, true},
        {"a process failed", NULL, 101, OP_SEND, STATE_COMPLETE, true, false},
        {"one failed meanwhile", NULL, 102, OP_SEND, STATE_COMPLETE, true, false},
        {"a communicator was revoked", NULL, 103, OP_SEND, STATE_COMPLETE, true, false},
        {"the class behind", NULL, 104, OP_SEND, STATE_COMPLETE, true, true},
        {"the living shrank", NULL, 0, OP_COMM_SHRINK, STATE_COMPLETE, false, false},
        {"the living agreed", NULL, 0, OP_COMM_AGREE, STATE_COMPLETE, false, false},
        {"all shrank", NULL, 0, OP_COMM_SHRINK, STATE_COMPLETE, true, true},
        {"all agreed", NULL, 0, OP_COMM_AGREE, STATE_COMPLETE, true, true},
        {"shrinking failed", NULL, 0, OP_COMM_SHRINK, STATE_FAILED, false, true},
        {"agreeing failed", NULL, 0, OP_COMM_AGREE, STATE_FAILED, false, true},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        tap_ok(tells_lost(&runs[i]) == runs[i].judged, "%s: leaks are %s", runs[i].name,
               runs[i].judged ? "judged" : "not");
}

/* ---- what the machine noted of the data of collectives ---- */

/* Both ranks call it twice, at two lines; by calls that start where asked. The operations by rank
 * and call; those of the waits behind them. */
static struct program noted_program(bool starts, uint32_t calls[2][2], uint32_t waits[2][2])
{
    struct program p = program_new(2);
    for (uint32_t rank = 0; rank < 2; rank++)
        for (uint32_t n = 0; n < 2; n++) {
            struct trace_plain_op op = program_op(&p, rank, OP_ALLREDUCE, 10 + (int)n);
            op.reduce_op = 3;
            op.comm_seq = n;
            op.flags = starts ? OP_NONBLOCKING : 0;
            calls[rank][n] = trace_add_op(p.trace, &op);
            if (starts)
                waits[rank][n] = program_wait(&p, rank, calls[rank][n], 20 + (int)n);
            else
                waits[rank][n] = calls[rank][n];
        }
    return p;
}

/* The findings of two notes, as "CODE at LINE" of each. */
static void expect_told(bool starts, const char *const codes[2], const int calls[2], bool known,
                        const char *wanted)
{
    uint32_t ops[2][2], waits[2][2];
    char text[120] = "";
    struct check_options options;
    struct findings findings;
    struct program p = noted_program(starts, ops, waits);
    for (uint32_t rank = 0; rank < 2; rank++)
        note(&p, codes[rank], known ? waits[rank][calls[rank]] : TRACE_NO,
             "Allreduce: 8 bytes come, 4 are taken");
    program_finish(&p);
    check_options_init(&options);
    findings_init(&findings);
    check_trace(p.trace, &options, &findings);
    said_trace(p.trace, &options, &findings);
    for (size_t i = 0; i < findings.count; i++)
        if (findings.items[i].code[0] == 'M') {
            uint32_t op = findings.items[i].op_count ? findings.items[i].ops[0].op : TRACE_NO;
            uint32_t site = op == TRACE_NO ? TRACE_NO : p.trace->ops[op].form->site;
            char one[40];
            int length = snprintf(one, sizeof one, "%s at %d; ", findings.items[i].code,
                                  site == TRACE_NO ? 0 : p.trace->sites[site].line);
            bool first = strcmp(one, text) < 0; /* those of one code come in any order */
            size_t at = first ? 0 : strlen(text);
            memmove(text + at + length, text + at, strlen(text + at) + 1);
            memcpy(text + at, one, (size_t)length);
        }
    tap_is_str(text, wanted, "notes %s of call %d and %s of call %d%s%s", codes[0], calls[0],
               codes[1], calls[1], starts ? ", told by waits" : "",
               known ? "" : ", of no operation");
    findings_release(&findings);
    trace_free(p.trace);
}

static void notes_of_data(void)
{
    static const struct {
        const char *codes[2];
        int calls[2];
        const char *wanted, *nowhere; /* where the calls are not known: each code once */
    } rows[] = {
        {{"M004", "M004"}, {0, 0}, "M004 at 10; ", "M004 at 0; "},
        {{"M004", "M004"}, {0, 1}, "M004 at 10; M004 at 11; ", "M004 at 0; "},
        {{"M005", "M005"}, {1, 1}, "M005 at 11; ", "M005 at 0; "},
        {{"M004", "M005"},
         {0, 0},
         "M004 at 10; ",
         "M004 at 0; M005 at 0; "}, /* one call is told once */
        {{"M004", "M005"}, {1, 0}, "M004 at 11; M005 at 10; ", "M004 at 0; M005 at 0; "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int starts = 0; starts < 2; starts++) {
            expect_told(starts, rows[i].codes, rows[i].calls, true, rows[i].wanted);
            expect_told(starts, rows[i].codes, rows[i].calls, false, rows[i].nowhere);
        }
}

/* ---- calls that MPI refused ---- */

/* So many collectives in which the last rank says another count; `code`: what is noted of its calls,
 * which failed or not. Seconds of the processor; the findings go to `count`. */
static double judge_refused(uint32_t calls, const char *code, int error, size_t *count)
{
    struct program p = program_new(2);
    struct check_options options;
    struct check_context context;
    struct findings findings;
    for (uint32_t i = 0; i < calls; i++)
        for (uint32_t rank = 0; rank < 2; rank++) {
            struct trace_plain_op call = program_op(&p, rank, OP_ALLREDUCE, 2);
            call.comm_seq = i;
            call.count = 1 + rank;
            call.error = rank ? error : 0;
            uint32_t op = trace_add_op(p.trace, &call);
            if (rank && code)
                note(&p, code, op, "refused");
        }
    program_finish(&p);
    check_options_init(&options);
    struct timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    check_context_init(&context, p.trace, &options);
    findings_init(&findings);
    check_collective(&context, &findings);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    *count = findings.count;
    findings_release(&findings);
    check_context_release(&context);
    trace_free(p.trace);
    return (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
}

static void refused_calls(void)
{
    static const struct {
        const char *name, *code;
        int error;
        bool told;
    } rows[] = {{"nothing was refused", NULL, 0, true},
                {"it was refused", "M009", MPI_ERR_COUNT, false},
                {"it failed, and nothing is said of it", NULL, MPI_ERR_COUNT, true},
                {"something else is said of it", "M004", MPI_ERR_COUNT, true},
                {"what was said was no refusal", "M009", 0, true}};
    enum { FEW = 3000, TIMES = 8 };
    double few = 1e9, many = 1e9;
    size_t count;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        judge_refused(1, rows[i].code, rows[i].error, &count);
        tap_is_int(count > 0, rows[i].told, "a call of another count: %s", rows[i].name);
    }
    for (int i = 0; i < 3; i++) {
        double once = judge_refused(FEW, "M009", MPI_ERR_COUNT, &count);
        few = once < few ? once : few;
        once = judge_refused(TIMES * FEW, "M009", MPI_ERR_COUNT, &count);
        many = once < many ? once : many;
    }
    tap_note("%d times as many refused calls: %.1f times as long", TIMES, many / few);
    tap_ok(many < 3 * TIMES * few, "%d times as many refused calls take hardly longer each", TIMES);
}

/* ---- which notes are told, and with which place ---- */

/* Rank 1 receives one element of those that were sent, and something is noted of a rank, of no operation; what is told, also as a
 * consequence. */
static void expect_codes(int64_t sent, uint32_t rank, const char *code, enum rank_state state,
                         const char *wanted)
{
    struct program p = program_new(2);
    struct check_options options;
    struct findings findings;
    char codes[64] = "";
    struct trace_plain_op send = program_op(&p, 0, OP_SEND, 1);
    send.peer = 1;
    send.tag = 0;
    send.count = sent;
    trace_add_op(p.trace, &send);
    program_p2p(&p, 1, OP_RECV, 0, 0, 2);
    struct trace_note made = {.rank = rank, .op = TRACE_NO, .node = TRACE_NO, .site = TRACE_NO};
    snprintf(made.code, sizeof made.code, "%s", code);
    made.text = made.code;
    trace_add_note(p.trace, &made);
    p.trace->rank_info[1].state = (uint8_t)state;
    p.trace->rank_info[1].exit_code = state == RANK_CRASHED ? 11 : state == RANK_ABORTED;
    program_finish(&p);
    check_options_init(&options);
    check_options_parse(&options, "p2p,notes,crash", NULL);
    findings_init(&findings);
    check_trace(p.trace, &options, &findings);
    for (size_t i = 0; i < findings.count + findings.folded; i++)
        snprintf(codes + strlen(codes), sizeof codes - strlen(codes), "%s ",
                 findings.items[i].code);
    findings_release(&findings);
    tap_is_str(codes, wanted, "%d sent, and %s of rank %u, which %s", (int)sent, code, rank,
               state == RANK_CRASHED   ? "crashed"
               : state == RANK_ABORTED ? "aborted"
                                       : "ended");
    trace_free(p.trace);
}

static bool names_line(const char *code, int op_line, int note_line)
{
    struct program p = program_new(1);
    struct check_options options;
    struct findings findings;
    struct trace_plain_op call = program_op(&p, 0, OP_BARRIER, op_line);
    uint32_t op = trace_add_op(p.trace, &call);
    struct trace_note made = {.op = op_line ? op : TRACE_NO, .node = TRACE_NO, .site = TRACE_NO};
    if (note_line)
        made.site = trace_add_site(p.trace, "p.c", note_line, "main");
    snprintf(made.code, sizeof made.code, "%s", code);
    char words[] = "noted";
    made.text = words;
    trace_add_note(p.trace, &made);
    program_finish(&p);
    check_options_init(&options);
    check_options_parse(&options, "notes", NULL);
    findings_init(&findings);
    check_trace(p.trace, &options, &findings);
    bool told = findings.count == 1 && strncmp(findings.items[0].title, "noted", 5) == 0;
    bool named = told && strstr(findings.items[0].title, "p.c:");
    tap_ok(told, "%s is told of an operation at line %d and a place at line %d", code, op_line,
           note_line);
    findings_release(&findings);
    trace_free(p.trace);
    return named;
}

/* The place stands in the title where no operation of the finding stands there. */
static void places_of_notes(void)
{
    static const struct {
        const char *code;
        bool other, same; /* named where the operation stands elsewhere; at the same line */
    } rows[] = {{"X005", true, true},   {"L003", true, false},  {"U001", true, false},
                {"B001", true, false},  {"M009", true, false},  {"M010", false, false},
                {"S001", false, false}, {"A001", false, false}, {"G004", false, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *code = rows[i].code;
        tap_ok(names_line(code, 0, 7), "%s of no operation names its place", code);
        tap_ok(!names_line(code, 3, 0), "%s of no place names none", code);
        tap_is_int(names_line(code, 3, 7), rows[i].other, "%s beside its operation", code);
        tap_is_int(names_line(code, 7, 7), rows[i].same, "%s at its operation", code);
    }
}

static void notes_told(void)
{
    expect_codes(2, 1, "M007", RANK_FINISHED, "M007 "); /* the trace shows it */
    expect_codes(2, 0, "M007", RANK_FINISHED, "M007 M007 ");
    expect_codes(2, 1, "U001", RANK_FINISHED, "M007 U001 ");
    expect_codes(1, 1, "X002", RANK_CRASHED, "X001 X002 ");
    expect_codes(1, 1, "X010", RANK_CRASHED, "X010 "); /* it was made to */
    expect_codes(1, 0, "X002", RANK_ABORTED, "X002 X002 ");
    expect_codes(1, 1, "X002", RANK_ABORTED, "X002 "); /* at which call */
    expect_codes(1, 1, "X010", RANK_ABORTED, "X010 X002 ");
    expect_codes(1, 0, "X001", RANK_CRASHED, "X001 "); /* a sanitizer said so */
    places_of_notes();
}

/* ---- what waits for a message that nobody receives (MPI-4.1, 3.4 and 3.6) ---- */

static void lost_messages(void)
{
    static const struct {
        enum op_kind kind;
        const char *waits; /* NULL: what the model of the run says of standard sends */
    } kinds[] = {{OP_SEND, NULL},
                 {OP_RSEND, NULL},
                 {OP_BSEND, "MPI_Buffer_detach waits for it"},
                 {OP_SSEND, "A synchronous send completes only when it is received"}};
    static const char *const models[] = {"eager", "rendezvous"};
    for (size_t i = 0; i < 2 * sizeof kinds / sizeof *kinds; i++) {
        struct program p = program_new(2);
        struct check_options options;
        struct findings findings;
        const char *waits = kinds[i / 2].waits, *standard = "where sends wait for their receives";
        program_p2p(&p, 0, kinds[i / 2].kind, 1, 7, 1);
        snprintf(p.trace->model, sizeof p.trace->model, "%s", models[i % 2]);
        p.trace->outcome = OUTCOME_FINISHED;
        for (int rank = 0; rank < 2; rank++)
            p.trace->rank_info[rank] =
                (struct trace_rank){.state = RANK_FINISHED, .finalized = true};
        program_finish(&p);
        check_options_init(&options);
        check_options_parse(&options, "leaks", NULL);
        findings_init(&findings);
        check_trace(p.trace, &options, &findings);
        const char *detail = findings.count == 1 ? findings.items[0].detail : "";
        tap_ok(detail && (waits != NULL) == (waits && strstr(detail, waits)) &&
                   (!waits && i % 2 == 0) == (strstr(detail, standard) != NULL),
               "%s, %s: what waits is said", op_kind_name((int)kinds[i / 2].kind), models[i % 2]);
        findings_release(&findings);
        trace_free(p.trace);
    }
}

int main(void)
{
    said_open("check_notes", 100);
    disturbed_runs();
    lost_messages();
    refused_calls();
    notes_of_data();
    notes_told();
    said_close();
    return tap_done();
}
