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

/* Between two words may stand any blanks, at the end of a line a carriage return, too; anything
 * else there is refused, and so is a text cut off anywhere before its end. */
static void spacing(const struct trace *trace)
{
    static const char *const lines[] = {"simrun-witness 1",
                                        "code D002",
                                        "model batch",
                                        "ranks 2",
                                        "rank 0: 1 0",
                                        "rank 1: 0-1",
                                        "# why",
                                        "nodes 1 2",
                                        "choice 0 1 from 1",
                                        "",
                                        "end"};
    enum { LINES = sizeof lines / sizeof *lines };
    static const struct {
        const char *before, *behind;
        bool right;
    } rows[] = {{"", "", true},   {"", " ", true},    {"", "  \r", true}, {"", "\r \r", true},
                {" ", "", true},  {"  ", " ", true},  {"", " x", false},  {"", "\t", false},
                {"x", "", false}, {"", "\r.", false}, {"\t", "", false}};
    char text[400], whole[400] = "";
    struct check_witness witness;
    struct failure failure;
    int wrong = 0;
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        for (int line = 0; line < LINES; line++) {
            size_t used = 0;
            bool to_its_end = strchr("#n", lines[line][0]) && !*rows[row].before; /* or none */
            for (int i = 0; i < LINES; i++)
                used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s\n",
                                         i == line ? rows[row].before : "", lines[i],
                                         i == line ? rows[row].behind : "");
            bool free_end = line == LINES - 1 && !*rows[row].before, code = line == 1;
            if (row == 0)
                memcpy(whole, text, sizeof whole);
            if (code ||
                free_end) /* a code goes to the end of its line, nothing behind the end is read */
                continue;
            bool right = rows[row].right || (to_its_end && lines[line][0]);
            if (!*lines[line])
                continue;
            int got = check_witness_parse(text, trace, &witness, &failure);
            if ((got == FAILURE_NONE) != right && !wrong++)
                tap_note("'%s%s%s' is %s", rows[row].before, lines[line], rows[row].behind,
                         right ? "refused" : "read");
            if (got == FAILURE_NONE) {
                wrong += strcmp(witness.code, "D002") != 0 || witness.model != CHECK_BATCH ||
                         witness.choice_count != 1 || witness.choices[0].receive != 1 ||
                         witness.choices[0].source != 1 || witness.order[0] != 1 ||
                         witness.order[1] != 0 || witness.order[3] != 3;
                check_witness_release(&witness);
            }
        }
    tap_is_int(wrong, 0, "blanks may stand between words, and nothing else behind them");
    size_t length = strlen(whole);
    for (size_t cut = 0; cut + 1 < length; cut++) {
        memcpy(text, whole, cut);
        text[cut] = 0;
        int got = check_witness_parse(text, trace, &witness, &failure);
        if (got == FAILURE_NONE)
            check_witness_release(&witness);
        wrong += got != FAILURE_INPUT;
    }
    tap_is_int(wrong, 0, "and a witness cut off anywhere is refused");
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
    spacing(trace);
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
