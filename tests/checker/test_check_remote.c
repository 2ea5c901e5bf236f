/* A001 to A013 on traces written by hand: two workers that keep every rule, and one step changed at
 * a time. */
#include "tests/checker/check_program.h"

static const char *const steps[2][40] = {{"worker n=2",
                                          "context c=0.1 mode=0",
                                          "send c=0.1 m=0.1 to=1 n=1 h=aa what=f",
                                          "out to=1 w=1 kind=call",
                                          "in from=1 w=1 kind=reply",
                                          "recv c=0.1 m=1.1 from=1 n=1 h=bb",
                                          "pass-begin c=0.1 p=0.1 mode=0 retain=0",
                                          "count c=0.1 p=0.1 m=0.1",
                                          "run c=0.1 p=0.1 v=0 kind=0 f=1.5 deps=1 arrived=1",
                                          "run c=0.1 p=0.1 v=1 kind=1 f=1.1 deps=1 arrived=1",
                                          "grad-out c=0.1 p=0.1 m=1.1 to=1 h=cc",
                                          "out to=1 w=2 kind=gradient",
                                          "in from=1 w=2 kind=gradient",
                                          "grad-in c=0.1 p=0.1 m=0.1 h=dd",
                                          "run c=0.1 p=0.1 v=2 kind=2 f=0.0 deps=1 arrived=1",
                                          "leaf c=0.1 p=0.1 leaf=0 before=0 after=ee",
                                          "idle c=0.1 p=0.1",
                                          "out to=1 w=3 kind=gradient-answer",
                                          "in from=1 w=3 kind=gradient-answer",
                                          "answered c=0.1 p=0.1",
                                          "over c=0.1 p=0.1 to=-1 ok=1",
                                          "pass-end c=0.1 p=0.1 ok=1",
                                          "release c=0.1",
                                          "forget c=0.1",
                                          "out to=1 w=4 kind=release",
                                          "in from=1 w=4 kind=release-answer",
                                          "release-done c=0.1 ok=1",
                                          "closed contexts=0"},
                                         {"worker n=2",
                                          "in from=0 w=1 kind=call",
                                          "context c=0.1 mode=0",
                                          "recv c=0.1 m=0.1 from=0 n=1 h=aa",
                                          "send c=0.1 m=1.1 to=0 n=1 h=bb what=answer-of-f",
                                          "out to=0 w=1 kind=reply",
                                          "in from=0 w=2 kind=gradient",
                                          "contact c=0.1 p=0.1 from=0",
                                          "count c=0.1 p=0.1 m=1.1",
                                          "grad-in c=0.1 p=0.1 m=1.1 h=cc",
                                          "run c=0.1 p=0.1 v=0 kind=0 f=1.9 deps=1 arrived=1",
                                          "run c=0.1 p=0.1 v=1 kind=1 f=0.1 deps=1 arrived=1",
                                          "grad-out c=0.1 p=0.1 m=0.1 to=0 h=dd",
                                          "out to=0 w=2 kind=gradient",
                                          "idle c=0.1 p=0.1",
                                          "in from=0 w=3 kind=gradient-answer",
                                          "answered c=0.1 p=0.1",
                                          "over c=0.1 p=0.1 to=0 ok=1",
                                          "answer c=0.1 p=0.1 to=0",
                                          "out to=0 w=3 kind=gradient-answer",
                                          "in from=0 w=4 kind=release",
                                          "forget c=0.1",
                                          "out to=0 w=4 kind=release-answer",
                                          "closed contexts=0"}};

/* The step of this rank that begins so becomes others, separated by '|', or none. */
struct change {
    int rank;
    const char *begins, *becomes;
};

static void step_add(struct program *program, uint32_t rank, uint32_t id, const char *text,
                     size_t length)
{
    char name[120];
    snprintf(name, sizeof name, "rpc.%.*s", (int)length, text);
    struct trace_node node = {.rank = rank,
                              .id = id,
                              .kind = OP_COMPUTE,
                              .state = STATE_COMPLETE,
                              .forward = TRACE_NO,
                              .site = TRACE_NO,
                              .name = trace_add_string(program->trace, name)};
    trace_add_node(program->trace, &node);
}

static void steps_add(struct program *program, uint32_t rank, uint32_t *id, const char *lines)
{
    while (*lines) {
        size_t length = strcspn(lines, "|");
        step_add(program, rank, ++*id, lines, length);
        lines += length + (lines[length] == '|');
    }
}

/* Whether each change met the one step it means. */
static bool program_write(struct program *program, const struct change *changes, size_t count)
{
    size_t met = 0;
    for (uint32_t rank = 0, id; rank < 2; rank++) {
        id = 0;
        for (size_t i = 0; steps[rank][i]; i++) {
            const char *lines = steps[rank][i];
            for (size_t k = 0; k < count; k++)
                if (changes[k].rank == (int)rank &&
                    strncmp(lines, changes[k].begins, strlen(changes[k].begins)) == 0) {
                    lines = changes[k].becomes;
                    met++;
                    break;
                }
            steps_add(program, rank, &id, lines);
        }
    }
    return met == count;
}

/* The codes found, and the sentence of the first. */
static void changed_is(const char *expected, const char *sentence, const struct change *changes,
                       size_t count, const char *name)
{
    struct program program = program_new(2);
    struct findings findings;
    struct check_options options;
    struct failure failure = {0};
    char codes[100] = "";
    findings_init(&findings);
    if (!program_write(&program, changes, count))
        snprintf(codes, sizeof codes, "changes of other steps ");
    for (uint32_t r = 0; r < 2; r++)
        program.trace->rank_info[r].state = RANK_FINISHED;
    check_options_init(&options);
    check_options_parse(&options, "remote", &failure);
    if (!trace_finish(program.trace, &failure))
        snprintf(codes, sizeof codes, "invalid trace ");
    check_trace(program.trace, &options, &findings);
    said_trace(program.trace, &options, &findings);
    bool said = !*sentence;
    for (size_t i = 0; i < findings.count; i++) {
        snprintf(codes + strlen(codes), sizeof codes - strlen(codes), "%s%s", i ? " " : "",
                 findings.items[i].code);
        said = said || strstr(findings.items[i].title, sentence);
    }
    tap_ok(strcmp(codes, expected) == 0 && said, "%s: %s", *expected ? expected : "nothing", name);
    if (strcmp(codes, expected) != 0 || !said)
        printf("# found '%s': %s\n", codes, findings.count ? findings.items[0].title : "");
    findings_release(&findings);
    trace_free(program.trace);
}

#define CHANGED(expected, sentence, name, ...)                                                     \
    changed_is(expected, sentence, (const struct change[]){__VA_ARGS__},                           \
               sizeof((const struct change[]){__VA_ARGS__}) / sizeof(struct change), name)

static void messages(void)
{
    CHANGED("A001", "was sent 0 times", "a receive function without its send",
            {0, "send c=0.1 m=0.1", ""});
    CHANGED("A001", "was received 2 times", "a message received twice",
            {1, "recv c=0.1 m=0.1",
             "recv c=0.1 m=0.1 from=0 n=1 h=aa|recv c=0.1 m=0.1 from=0 n=1 h=aa"});
    CHANGED("A001", "by the wrong worker", "a message received where it was not sent to",
            {0, "send c=0.1 m=0.1", "send c=0.1 m=0.1 to=0 n=1 h=aa what=f"});
    CHANGED("A001", "was never received", "a message that got lost",
            {1, "recv c=0.1 m=0.1", "worker n=2"});
    CHANGED("", "", "a message that got lost as a worker died",
            {1, "recv c=0.1 m=0.1", "worker n=2"}, {1, "closed", "died|closed contexts=0"});
    CHANGED("", "", "a message that got lost and was tried again",
            {1, "recv c=0.1 m=0.1", "worker n=2"},
            {0, "in from=1 w=1", "retry w=1|in from=1 w=1 kind=reply"});
    CHANGED("", "", "a message that was lost on purpose", {1, "recv c=0.1 m=0.1", "worker n=2"},
            {0, "out to=1 w=1", "out to=1 w=1 kind=call lost=1"});
    CHANGED("", "", "a message that was refused in an orderly way",
            {1, "recv c=0.1 m=0.1", "refuse c=0.1"});
    CHANGED("A007", "the tensors of message 0.1", "a tensor that changed",
            {1, "recv c=0.1 m=0.1", "recv c=0.1 m=0.1 from=0 n=1 h=ab"});
    CHANGED("A007", "the gradient of message 1.1", "a gradient that changed",
            {1, "grad-in c=0.1 p=0.1 m=1.1", "grad-in c=0.1 p=0.1 m=1.1 h=cd"});
    CHANGED("A013", "message id 0.1", "a message id given twice",
            {0, "send c=0.1 m=0.1",
             "send c=0.1 m=0.1 to=1 n=1 h=aa what=f|send c=0.1 m=0.1 to=1 n=1 h=aa what=f"});
    CHANGED("A013", "context id 0.1", "a context id given twice",
            {0, "context c=0.1", "context c=0.1 mode=0|context c=0.1 mode=0"});
}

static void gradients(void)
{
    CHANGED("A002", "2 gradients were sent", "a gradient sent twice",
            {1, "grad-out",
             "grad-out c=0.1 p=0.1 m=0.1 to=0 h=dd|grad-out c=0.1 p=0.1 m=0.1 to=0 h=dd"});
    CHANGED("A002", "2 came", "a gradient taken twice",
            {0, "grad-in", "grad-in c=0.1 p=0.1 m=0.1 h=dd|grad-in c=0.1 p=0.1 m=0.1 h=dd"});
    CHANGED("A002", "no gradient came for message 0.1", "a counted send without a gradient",
            {0, "grad-in", ""});
    CHANGED("A002", "that nobody sent", "a gradient out of nothing", {1, "grad-out", ""});
    CHANGED("A003", "after 1 of 2", "an operation that ran early",
            {0, "run c=0.1 p=0.1 v=0", "run c=0.1 p=0.1 v=0 kind=0 f=1.5 deps=2 arrived=1"});
    CHANGED("A003", "2 times in a pass", "an operation that ran twice",
            {0, "run c=0.1 p=0.1 v=1", "run c=0.1 p=0.1 v=0 kind=1 f=1.1 deps=1 arrived=1"});
    CHANGED("A004", "zero 2 times", "outstanding at zero twice",
            {1, "idle", "idle c=0.1 p=0.1|idle c=0.1 p=0.1"});
    CHANGED("A004", "zero 0 times", "over without having come to zero", {1, "idle", ""});
}

static void endings(void)
{
    CHANGED("A005", "went on in pass 0.1", "a worker that answers before it is done",
            {1, "grad-in", "grad-in c=0.1 p=0.1 m=1.1 h=cc|answer c=0.1 p=0.1 to=0"},
            {1, "answer c", ""});
    CHANGED("A005", "first 2 times", "two first contacts",
            {1, "contact", "contact c=0.1 p=0.1 from=0|contact c=0.1 p=0.1 from=0"});
    CHANGED("A005", "do not lead to its root", "a contact from nowhere",
            {1, "contact", "contact c=0.1 p=0.1 from=1"});
    CHANGED("A006", "before all was done", "a root that does not wait for the last answer",
            {0, "in from=1 w=3", ""},
            {0, "release c", "in from=1 w=3 kind=gradient-answer|release c=0.1"});
    CHANGED("A010", "in a second pass", "an operation run in two passes without retain",
            {0, "release c",
             "pass-begin c=0.1 p=0.2 mode=0 retain=0|run c=0.1 p=0.2 v=0 kind=0 f=1.5 deps=1 "
             "arrived=1|idle c=0.1 p=0.2|over c=0.1 p=0.2 to=-1 ok=1|pass-end c=0.1 p=0.2 ok=1|"
             "release c=0.1"});
    CHANGED("A011", "after pass 0.1 had failed", "a leaf that adds up after an error",
            {0, "leaf", "fail c=0.1 p=0.1|leaf c=0.1 p=0.1 leaf=0 before=0 after=ee"});
    CHANGED("A011", "never left pass 0.1", "a worker that stays in a pass", {1, "over", ""});
}

static void contexts(void)
{
    CHANGED("A009", "another context's gradient", "a gradient that was there before",
            {0, "leaf", "leaf c=0.1 p=0.1 leaf=0 before=1 after=ee"});
    CHANGED("", "", "two leaves, each from nothing",
            {0, "leaf",
             "leaf c=0.1 p=0.1 leaf=0 before=0 after=ee|leaf c=0.1 p=0.1 leaf=1 before=0 after=1"});
    CHANGED(
        "A009", "another context's gradient", "a leaf that takes what another holds",
        {0, "leaf",
         "leaf c=0.1 p=0.1 leaf=0 before=0 after=ee|leaf c=0.1 p=0.1 leaf=1 before=ee after=1"});
    CHANGED(
        "", "", "a leaf that grows twice",
        {0, "leaf",
         "leaf c=0.1 p=0.1 leaf=0 before=0 after=ee|leaf c=0.1 p=0.1 leaf=0 before=ee after=1"});
    CHANGED("A009", "another context's gradient", "a leaf that begins again without a rollback",
            {0, "leaf",
             "leaf c=0.1 p=0.1 leaf=0 before=0 after=ee|leaf c=0.1 p=0.1 leaf=0 before=0 after=1"});
    CHANGED("", "", "a leaf that begins again after a rollback",
            {0, "leaf",
             "leaf c=0.1 p=0.1 leaf=0 before=0 after=ee|rollback c=0.1 p=0.1|"
             "leaf c=0.1 p=0.1 leaf=0 before=0 after=1"});
    CHANGED("A009", "another context's gradient", "a leaf that goes on after a rollback",
            {0, "leaf",
             "leaf c=0.1 p=0.1 leaf=0 before=0 after=ee|rollback c=0.1 p=0.1|"
             "leaf c=0.1 p=0.1 leaf=0 before=ee after=1"});
    CHANGED("", "", "a rollback to what the pass before had left",
            {0, "leaf",
             "leaf c=0.1 p=0.1 leaf=0 before=0 after=ee|leaf c=0.1 p=0.2 leaf=0 before=ee after=2|"
             "rollback c=0.1 p=0.2|idle c=0.1 p=0.2|over c=0.1 p=0.2 to=-1 ok=1|"
             "leaf c=0.1 p=0.1 leaf=0 before=ee after=3"});
    CHANGED("A009", "another context's gradient", "a rollback by one pass that takes two back",
            {0, "leaf",
             "leaf c=0.1 p=0.1 leaf=0 before=0 after=ee|leaf c=0.1 p=0.2 leaf=0 before=ee after=2|"
             "rollback c=0.1 p=0.2|idle c=0.1 p=0.2|over c=0.1 p=0.2 to=-1 ok=1|"
             "leaf c=0.1 p=0.1 leaf=0 before=0 after=3"});
    CHANGED("A012", "came back after its release", "a context that comes back",
            {1, "forget", "forget c=0.1|context c=0.1 mode=0"});
    CHANGED("A012", "worker 1 still knows", "a worker that has not forgotten", {1, "forget", ""});
    CHANGED("", "", "a worker that has died and could not forget", {1, "forget", "died"});
    CHANGED("", "", "a release that said it had failed", {1, "forget", ""},
            {0, "release-done", "release-done c=0.1 ok=0"});
}

/* Worker 1 is the root of so many passes; in one of them worker 0 ran something that it was not told
 * of, and the root of another pass, worker 0 itself, has seen. */
static void one_of_many_passes(void)
{
    unsigned wrong = 0;
    for (unsigned passes = 1; passes <= 9; passes++)
        for (unsigned late = 0; late <= passes; late++) {
            struct program p = program_new(2);
            struct findings findings;
            struct check_options options;
            struct failure failure = {0};
            char line[100], said[100];
            uint32_t ids[2] = {0};
            snprintf(line, sizeof line, "run c=0.1 p=1.%u v=0 kind=0 f=1.5 deps=1 arrived=1", late);
            if (late) /* else all is right */
                steps_add(&p, 0, &ids[0], line);
            steps_add(&p, 0, &ids[0], "pass-begin c=0.1 p=0.1 mode=0 retain=0");
            steps_add(&p, 0, &ids[0], "pass-end c=0.1 p=0.1 ok=1");
            for (unsigned pass = 1; pass <= passes; pass++) {
                snprintf(line, sizeof line, "pass-begin c=0.1 p=1.%u mode=0 retain=0", pass);
                steps_add(&p, 1, &ids[1], line);
                snprintf(line, sizeof line, "pass-end c=0.1 p=1.%u ok=1", pass);
                steps_add(&p, 1, &ids[1], line);
            }
            for (uint32_t rank = 0; rank < 2; rank++)
                p.trace->rank_info[rank].state = RANK_FINISHED;
            check_options_init(&options);
            check_options_parse(&options, "remote", &failure);
            program_finish(&p);
            findings_init(&findings);
            check_trace(p.trace, &options, &findings);
            unsigned early = 0, right = 0;
            snprintf(said, sizeof said, "pass 1.%u returned at its root before all was done", late);
            for (size_t i = 0; i < findings.count; i++) {
                early += strcmp(findings.items[i].code, "A006") == 0;
                right += strstr(findings.items[i].title, said) != NULL;
            }
            wrong += early != (late > 0) || right != (late > 0);
            findings_release(&findings);
            trace_free(p.trace);
        }
    tap_is_int(wrong, 0, "of many passes the one is told whose root did not wait");
}

int main(void)
{
    said_open("check_remote", 300);
    changed_is("", "", NULL, 0, "two workers that keep every rule");
    messages();
    gradients();
    endings();
    contexts();
    one_of_many_passes();
    said_close();
    return tap_done();
}
