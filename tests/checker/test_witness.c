/* Witnesses: what is written is read back, what is replayed shows what it should, and nonsense is
 * refused with a line. */
#include "checker/replay/witness.h"
#include "tests/checker/check_program.h"

static struct program two_ranks(void)
{
    struct program p = program_new(2);
    program_p2p(&p, 0, OP_SEND, 1, 0, 1);
    program_p2p(&p, 0, OP_RECV, 1, 0, 2);
    program_p2p(&p, 1, OP_SEND, 0, 0, 3);
    program_p2p(&p, 1, OP_RECV, 0, 0, 4);
    program_finish(&p);
    return p;
}

static void replays(const struct trace *trace, enum check_model model, const uint32_t *order,
                    enum witness_outcome outcome, const char *name)
{
    struct check_witness witness;
    struct failure failure = {0};
    char *text = check_witness_text(trace, "D002", model, order, NULL, 0);
    int code = check_witness_parse(text, trace, &witness, &failure);
    if (tap_is_int(code, 0, "%s: it is read back", name)) {
        tap_ok(witness.model == model && strcmp(witness.code, "D002") == 0,
               "%s: with its code and model", name);
        tap_is_int(check_witness_replay(trace, &witness, NULL), outcome, "%s", name);
        check_witness_release(&witness);
    }
    free(text);
}

static void refused(const struct trace *trace, const char *text, const char *phrase,
                    const char *name)
{
    struct check_witness witness;
    struct failure failure = {0};
    int code = check_witness_parse(text, trace, &witness, &failure);
    tap_ok(code == FAILURE_INPUT && strstr(failure.text, phrase), "%s (%s)", name, failure.text);
}

static void tells(const struct trace *trace)
{
    struct check_witness witness;
    struct failure failure;
    char *text = NULL;
    check_witness_parse("simrun-witness 1\ncode D003\nmodel rendezvous\nranks 2\nend\n", trace,
                        &witness, &failure);
    check_witness_replay(trace, &witness, &text);
    tap_ok(text && strstr(text, "rank 0, Send to 1 tag 0 at p.c:1 waits for rank 1, Recv from 0"),
           "a replay that stands says who waits for whom");
    free(text);
    check_witness_release(&witness);
}

/* A choice names a rank and one of its operations; a code has room for seven letters. */
static void borders(const struct trace *trace)
{
    static const struct {
        const char *line;
        bool right;
    } rows[] = {
        {"choice 0 0 from 0", true},
        {"choice 1 1 from 1", true},
        {"choice 2 0 from 0", false},
        {"choice 0 2 from 0", false},
        {"choice 0 0 from 2", false},
        {"choice 0 0 to 0", false},
        {"choice 0 0", false},
        {"choice 0", false},
        {"choice x 0 from 0", false},
        {"code D", true},
        {"code D003xyz", true},
        {"code D003xyzw", false},
        {"code ", false},
        {"choice 0 0 from x", false},
        {"model batch", true},
        {"ranks 1", false},
        {"choice 1 0 from 0", true},
        {"rank 0: 0-1", true},
        {"rank 0: 1-0", false},
        {"rank 0: 0-2", false},
        {"rank 0: 1", false},
        {"rank 2: 0-1", false},
        {"rank 1: 1 0", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[200];
        struct check_witness witness;
        struct failure failure = {0};
        bool ranks = strncmp(rows[i].line, "ranks", 5) == 0;
        snprintf(text, sizeof text, "simrun-witness 1\n%s%s\nend\n", ranks ? "" : "ranks 2\n",
                 rows[i].line);
        int code = check_witness_parse(text, trace, &witness, &failure);
        tap_is_int(code, rows[i].right ? FAILURE_NONE : FAILURE_INPUT, "'%s' is %s", rows[i].line,
                   rows[i].right ? "read" : "refused");
        if (code == FAILURE_NONE)
            check_witness_release(&witness);
    }
}

int main(void)
{
    struct program p = two_ranks();
    const struct trace *trace = p.trace;
    replays(trace, CHECK_EAGER, NULL, WITNESS_COMPLETES,
            "an exchange with sends first completes when they are buffered");
    replays(trace, CHECK_RENDEZVOUS, NULL, WITNESS_STUCK, "and stands when they wait");
    replays(trace, CHECK_EAGER, (uint32_t[]){1, 0, 3, 2}, WITNESS_STUCK,
            "receives first stand in any case");
    replays(trace, CHECK_RENDEZVOUS, (uint32_t[]){0, 1, 3, 2}, WITNESS_COMPLETES,
            "one of each completes");
    tells(trace);
    borders(trace);
    refused(trace, "", "line 1", "nothing is no witness");
    refused(trace, "simrun-witness 1\nmodel eager\n", "cut off", "a witness must end");
    refused(trace, "simrun-witness 1\nmodel fast\nranks 2\nend\n", "line 2",
            "a model must be known");
    refused(trace, "simrun-witness 1\nranks 3\nend\n", "number of ranks",
            "the number of ranks must fit");
    refused(trace, "simrun-witness 1\nranks 2\nrank 0: 0\nend\n", "not every operation",
            "every operation of a rank must be there");
    refused(trace, "simrun-witness 1\nranks 2\nrank 0: 0 0\nend\n", "twice",
            "no operation may be there twice");
    refused(trace, "simrun-witness 1\nranks 2\nrank 0: 0-99999999\nend\n", "range",
            "a range must lie on the rank");
    refused(trace, "simrun-witness 1\nranks 2\nrank 7: 0\nend\n", "line 3", "a rank must exist");
    refused(trace, "simrun-witness 1\nranks 2\nchoice 0 1 from 5\nend\n", "choice",
            "a choice must name ranks and operations that exist");
    refused(trace, "simrun-witness 1\nranks 2\nhello\nend\n", "unknown word",
            "other words are refused");
    trace_free(p.trace);
    return tap_done();
}
