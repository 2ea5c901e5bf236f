/* The JSONL format: exact round trips, what a short recorder may leave out, refusals with their
 * places. */
#include "tests/formats/format_samples.h"
#include "traces/trace/finding.h"

#include <sys/wait.h>
#include <unistd.h>

enum { ROUND_TRIPS = 300 };

/* ---- random traces ---- */

static const char *const texts[] = {"",
                                    "w",
                                    "x.y",
                                    "tab\there",
                                    "quote\"back\\slash",
                                    "\xc3\xa9\xe2\x82\xac",
                                    "\xff\xfe raw",
                                    "line\nbreak",
                                    "\xf0\x9f\x98\x80"};

static const char *some_text(uint64_t *state)
{
    return texts[sample_below(state, sizeof texts / sizeof *texts)];
}

static double some_double(uint64_t *state)
{
    static const double odd[] = {0.0, -1.5, 0.1, 1e300, 5e-324, INFINITY, -INFINITY};
    uint32_t choice = sample_below(state, 9);
    return choice < 7 ? odd[choice] : choice == 7 ? NAN : (double)dice_next(state) / 3e7;
}

static uint32_t maybe(uint64_t *state, size_t count)
{
    return count == 0 || sample_below(state, 3) == 0 ? TRACE_NO
                                                     : sample_below(state, (uint32_t)count);
}

static void random_small_tables(struct trace *trace, uint64_t *state)
{
    for (uint32_t i = 0, n = sample_below(state, 6); i < n; i++)
        trace_add_site(trace, some_text(state), (int)sample_below(state, 90) - 5, some_text(state));
    for (uint32_t i = 0, n = 1 + sample_below(state, 4); i < n; i++) {
        int32_t members[8];
        struct trace_comm comm = {
            .id = i * 3 + 1,
            .size = 1 + sample_below(state, trace->ranks < 4 ? 2 * trace->ranks : 8),
            .parent = maybe(state, i),
            .adjoint_of = maybe(state, i)};
        for (uint32_t k = 0; k < comm.size; k++)
            members[k] = (int32_t)sample_below(state, trace->ranks);
        comm.members = sample_below(state, 4) ? members : NULL;
        snprintf(comm.name, sizeof comm.name, "%s", some_text(state));
        trace_add_comm(trace, &comm);
    }
    for (uint32_t i = 0, n = sample_below(state, 3); i < n; i++) {
        struct trace_gradient row = {.rank = sample_below(state, trace->ranks),
                                     .variable = trace_add_string(trace, some_text(state)),
                                     .index = (int64_t)sample_below(state, 9) - 1,
                                     .method = i ? "one-sided" : "dot",
                                     .step = some_double(state),
                                     .analytic = some_double(state),
                                     .numeric = some_double(state),
                                     .error = some_double(state),
                                     .tolerance = some_double(state),
                                     .relative = some_double(state),
                                     .ok = sample_below(state, 2),
                                     .elements = (uint32_t)sample_below(state, 4)};
        if (!row.ok && sample_below(state, 2))
            row.undecided = trace_doubt(sample_below(state, 2) ? "noise" : "kink");
        trace_add_gradient(trace, &row);
        trace_add_metric_at(trace, some_text(state),
                            (int32_t)sample_below(state, trace->ranks + 1) - 1, some_double(state),
                            some_double(state), some_text(state));
    }
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        if (sample_below(state, 2))
            trace->rank_info[rank] =
                (struct trace_rank){.state = sample_below(state, 6),
                                    .exit_code = (int)sample_below(state, 300) - 20,
                                    .site = maybe(state, trace->site_count),
                                    .finalized = sample_below(state, 2),
                                    .bytes_sent = dice_next(state),
                                    .messages_sent = sample_below(state, 2),
                                    .hash = dice_next(state)};
}

/* Nodes of a rank in one run each, with edges to earlier ones. */
static void random_nodes(struct trace *trace, uint64_t *state)
{
    uint32_t passes = 1 + sample_below(state, 3);
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        uint32_t first = (uint32_t)trace->node_count;
        for (uint32_t i = 0, n = sample_below(state, 8); i < n; i++) {
            struct trace_node node = {.rank = rank,
                                      .id = i * 2 + 1,
                                      .pass = sample_below(state, passes),
                                      .kind = sample_below(state, 2) ? OP_ALLREDUCE : OP_COMPUTE,
                                      .state =
                                          sample_below(state, 2) ? STATE_COMPLETE : STATE_BLOCKED,
                                      .forward = i ? first + sample_below(state, i) : TRACE_NO,
                                      .site = maybe(state, trace->site_count),
                                      .name = trace_add_string(trace, some_text(state)),
                                      .begin = sample_below(state, 99),
                                      .end = dice_next(state)};
            trace_add_node(trace, &node);
            for (uint32_t k = 0; i && k < 2; k++)
                trace_add_edge(trace, first + sample_below(state, i), first + i,
                               sample_below(state, 2));
        }
        for (uint32_t pass = 1; pass < passes; pass++)
            if (sample_below(state, 2))
                trace_add_pass(trace, &(struct trace_pass){.rank = rank,
                                                           .pass = pass,
                                                           .mode = sample_below(state, 2),
                                                           .complete = sample_below(state, 2)});
    }
}

static const uint8_t kinds[] = {OP_SEND,    OP_ISEND,   OP_RECV,     OP_IRECV, OP_PROBE,
                                OP_WAIT,    OP_WAITALL, OP_TEST,     OP_BCAST, OP_ALLTOALLV,
                                OP_BARRIER, OP_COMPUTE, OP_FINALIZE, OP_NONE};

static int32_t some_who(uint64_t *state, uint32_t limit)
{
    return (int32_t)sample_below(state, 4) ? (int32_t)sample_below(state, limit)
           : sample_below(state, 2)        ? TRACE_ANY
                                           : TRACE_NONE;
}

static void random_op(struct trace *trace, uint64_t *state, uint32_t rank)
{
    struct trace_plain_op op = trace_op_none(rank, kinds[sample_below(state, sizeof kinds)]);
    uint32_t here = (uint32_t)trace->op_count;
    op.state = (uint8_t)sample_below(state, 6);
    op.flags = (uint16_t)(sample_below(state, 3) ? 0 : sample_below(state, 256));
    op.pass = sample_below(state, 3) ? 0 : sample_below(state, 4);
    op.comm = maybe(state, trace->comm_count);
    op.comm_seq = sample_below(state, 3);
    op.peer = some_who(state, trace->ranks);
    op.tag = some_who(state, 3);
    op.peer_matched = sample_below(state, 3) ? TRACE_NONE : some_who(state, trace->ranks);
    op.tag_matched = sample_below(state, 3) ? TRACE_NONE : some_who(state, 3);
    op.count = (int64_t)dice_next(state) >> (6 + sample_below(state, 58));
    op.count_matched = (int64_t)sample_below(state, 5) - 1;
    op.type = sample_below(state, 2) ? 0x214 : sample_below(state, 0x300);
    op.signature = sample_below(state, 2) ? op.type : (uint32_t)dice_next(state);
    op.reduce_op = sample_below(state, 2) ? 0x21 : sample_below(state, 0x40);
    op.batch = sample_below(state, 3);
    op.thread = sample_below(state, 3);
    op.error = sample_below(state, 5) ? 0 : (int32_t)dice_next(state);
    op.identity = (uint32_t)dice_next(state) >> sample_below(state, 31);
    op.begin = dice_next(state) >> sample_below(state, 63);
    struct trace_whole_op whole = {.times.end_ns = dice_next(state)};
    whole.at.buffer = dice_next(state);
    op.site = maybe(state, trace->site_count);
    bool of_wait =
        here > 0 && op_kind_class(op.kind) == CLASS_WAIT &&
        op_kind_class(trace->ops[here - 1].kind) == CLASS_WAIT; /* no wait waits for one */
    if (here > 0 && trace->ops[here - 1].rank == rank && !of_wait && sample_below(state, 2))
        op.request = here - 1;
    if (here > 0 && sample_below(state, 4) == 0)
        op.adjoint_of = sample_below(state, here);
    whole.op = op;
    trace_add_whole_op(trace, &whole);
    if (op_kind_class(op.kind) == CLASS_WAIT && op.request != TRACE_NO)
        trace_add_wait(trace, here, op.request, sample_below(state, 2));
    int64_t counts[3] = {1, -7, (int64_t)1 << 36};
    if (op.kind == OP_ALLTOALLV)
        trace_add_counts(trace, here, sample_below(state, 4),
                         sample_below(state, 2) ? counts : NULL, counts);
}

static void random_notes(struct trace *trace, uint64_t *state)
{
    char text[] = "a note\twith\n\"signs\"";
    for (uint32_t i = 0, n = sample_below(state, 3); i < n; i++)
        trace_add_note(trace, &(struct trace_note){.code = "G005",
                                                   .rank = sample_below(state, trace->ranks),
                                                   .op = maybe(state, trace->op_count),
                                                   .node = maybe(state, trace->node_count),
                                                   .site = maybe(state, trace->site_count),
                                                   .text = text});
}

static struct trace *random_trace(uint64_t *state)
{
    struct failure failure = {0};
    struct trace *trace = trace_new(1 + sample_below(state, 5));
    snprintf(trace->program, sizeof trace->program, "%s", some_text(state));
    snprintf(trace->model, sizeof trace->model, "%s", sample_below(state, 2) ? "eager" : "");
    trace->outcome = sample_below(state, 8);
    trace->seed = dice_next(state);
    trace->objective = some_double(state);
    random_small_tables(trace, state);
    random_nodes(trace, state);
    for (uint32_t i = 0, n = sample_below(state, 40); i < n; i++)
        random_op(trace, state, sample_below(state, trace->ranks));
    random_notes(trace, state);
    if (!trace_finish(trace, &failure) || !trace_check(trace, &failure)) {
        tap_note("random trace: %s", failure.text);
        trace_free(trace);
        return NULL;
    }
    /* nodes of ops: those of their rank */
    for (size_t i = 0; i < trace->op_count; i++) {
        uint32_t rank = trace->ops[i].rank;
        size_t nodes = trace->node_begin[rank + 1] - trace->node_begin[rank];
        if (nodes && sample_below(state, 2))
            trace->ops[i].node =
                (uint32_t)trace->node_begin[rank] + sample_below(state, (uint32_t)nodes);
    }
    return trace;
}

static bool round_trip(uint64_t seed, bool *valid)
{
    uint64_t state = seed;
    struct failure failure = {0};
    struct trace *trace = random_trace(&state);
    *valid = trace != NULL;
    if (!trace)
        return false;
    size_t size = 0;
    char *text = sample_write(trace, "jsonl", &size);
    struct trace *again = text ? format_read_memory("again", text, size, &failure) : NULL;
    const char *difference = again ? sample_difference(trace, again) : failure.text;
    bool same = again && !difference && trace_hash(trace) == trace_hash(again);
    if (!same)
        tap_note("seed %llu: %s differs\n%s", (unsigned long long)seed,
                 difference ? difference : "hash", text ? text : "");
    trace_free(trace);
    trace_free(again);
    free(text);
    return same;
}

static void test_round_trips(void)
{
    struct dice_seeds seeds = dice_seeds(ROUND_TRIPS);
    unsigned long long passed = 0;
    bool valid;
    while (passed < seeds.count && round_trip(seeds.first + passed, &valid))
        passed++;
    tap_is_int(passed, seeds.count, "%llu random traces are read as they were written",
               seeds.count);
}

/* ---- what may be left out ---- */

static void test_minimum(void)
{
    struct failure failure;
    struct trace *trace = sample_read(
        "minimum",
        "{\"simrun\":1,\"ranks\":2}\n"
        "{\"op\":\"Send\",\"rank\":0,\"peer\":1,\"tag\":7}\n"
        "{\"op\":\"Irecv\",\"rank\":1,\"peer\":\"any\",\"tag\":7}\n"
        "\n"
        "{\"op\":\"Wait\",\"rank\":1,\"request\":0}\n"
        "{\"op\":\"Iallreduce\",\"rank\":0,\"count\":4,\"type\":\"double\",\"reduce\":\"sum\"}\n"
        "{\"op\":\"Barrier\",\"rank\":0,\"site\":\"a.py:12\",\"_mine\":[{}]}",
        &failure);
    if (!tap_ok(trace, "a minimal file is read"))
        return;
    const struct trace_op *ops = trace->ops;
    tap_is_int(trace->outcome, OUTCOME_IMPORTED, "its outcome is imported");
    tap_is_int(trace->comms[0].size, 2, "it has a world of all ranks");
    tap_is_int(ops[0].match, 3, "its message is matched");
    tap_is_int(ops[3].request, 4, "its receive leads to the wait");
    tap_is_int(ops[1].flags, OP_NONBLOCKING, "Iallreduce is a nonblocking Allreduce");
    tap_is_int(ops[1].form->signature, 0x214, "the signature follows the type");
    tap_is_int(ops[2].comm_seq, 1, "collectives are counted");
    tap_is_str(trace->sites[ops[2].form->site].file, "a.py", "a site is split at its colon");
    tap_is_int(trace->sites[ops[2].form->site].line, 12, "its line is a number");
    trace_free(trace);
}

static void test_deps(void)
{
    struct failure failure;
    struct trace *trace = sample_read(
        "deps",
        "{\"simrun\":1,\"ranks\":2}\n"
        "{\"op\":\"Send\",\"rank\":1,\"id\":9,\"peer\":0,\"order_deps\":[4],\"name\":\"last\"}\n"
        "{\"op\":\"Allreduce\",\"rank\":1,\"id\":4,\"deps\":[]}\n",
        &failure);
    if (!tap_ok(trace, "dependencies may point forward: %s", failure.text))
        return;
    tap_is_int(trace->node_count, 2, "operations with deps are nodes");
    tap_is_int(trace->edge_count, 1, "deps are edges");
    tap_is_int(trace->nodes[trace->edges[0].from].kind, OP_ALLREDUCE,
               "an edge leads from what must come first");
    tap_is_int(trace->edges[0].type, EDGE_ORDER, "order_deps are order edges");
    tap_is_int(trace->pass_count, 1, "they form a pass");
    tap_is_int(trace->passes[0].mode, PASS_DATA, "in data order");
    tap_is_str(trace_string(trace, trace->nodes[trace->ops[0].node].name), "last",
               "a node may be named");
    trace_free(trace);
}

/* The recorder of the manual, run as printed there. */
static void test_python(void)
{
    struct failure failure = {0};
    const char *command =
        "sed -n '/^```python$/,/^```$/p' docs/formats.md | sed '/^```/d' | python3 - 2>&1";
    if (access("docs/formats.md", R_OK) != 0 || system("python3 -c 0 >/dev/null 2>&1") != 0) {
        tap_skip(4, "python3 or docs/formats.md is absent");
        return;
    }
    char text[8192];
    FILE *pipe = popen(command, "r");
    size_t size = pipe ? fread(text, 1, sizeof text, pipe) : 0;
    int status = pipe ? pclose(pipe) : -1;
    tap_is_int(status, 0, "the manual's recorder runs");
    struct trace *trace = format_read_memory("recorder", text, size, &failure);
    if (!tap_ok(trace, "what it writes is read: %s", failure.text))
        return;
    tap_is_int(trace->ranks, 4, "all its ranks are there");
    tap_ok(trace->edge_count >= 4 && trace->ops[0].form->site != TRACE_NO, "with edges and sites");
    trace_free(trace);
}

/* ---- refusals ---- */

#define HEAD "{\"simrun\":1,\"ranks\":2}\n"

static const struct {
    const char *text, *expected;
} malformed[] = {
    {"{\"simrun\":1}", "t:1:1: a header without \"ranks\""},
    {"{\"simrun\":2,\"ranks\":1}", "t:1:11: a number from 1 to 1 expected"},
    {"{\"simrun\":1,\"ranks\":0}", "t:1:21: a number from 1 to 1048576 expected"},
    {"{\"simrun\":1,\"ranks\":99999999999999999999}",
     "t:1:21: a number from 1 to 1048576 expected"},
    {"{\"simrun\":1,\"ranks\":2", "t:1:22: ',' or '}' expected, the input ends"},
    {"{\"simrun\":1,\"ranks\":2} x", "t:1:24: the end of the value expected, not 'x'"},
    {"{\"simrun\":1,\"ranks\":2,\"color\":1}", "t:1:23: unknown key \"color\" of the header"},
    {HEAD "[]", "t:2:1: an object expected, not '['"},
    {HEAD "{}", "t:2:2: an empty object"},
    {HEAD "{\"rank\":0,\"op\":\"Send\"}", "t:2:11: unknown key \"op\" of a rank"},
    {HEAD "{\"ops\":1}", "t:2:2: a line begins with the key that says what it is; \"ops\" is none"},
    {HEAD "{\"op\":\"Sned\",\"rank\":0}", "t:2:7: unknown operation \"Sned\""},
    {HEAD "{\"op\":\"Isend_\",\"rank\":0}", "t:2:7: unknown operation \"Isend_\""},
    {HEAD "{\"op\":\"Send\"}", "t:2:1: an operation without \"rank\""},
    {HEAD "{\"op\":\"Send\",\"rank\":2}", "t:2:21: a number from 0 to 1 expected"},
    {HEAD "{\"op\":\"Send\",\"rank\":0,\"peer\":2}", "t:2:1: peer 2 is not a rank"},
    {HEAD "{\"op\":\"Send\",\"rank\":0,\"peer\":\"all\"}",
     "t:2:30: a number, \"any\" or null expected"},
    {HEAD "{\"op\":\"Send\",\"rank\":0,\"dep\":[]}", "t:2:23: unknown key \"dep\" of an operation"},
    {HEAD "{\"op\":\"Send\",\"rank\":0,\"tag\":1.5}", "t:2:29: a whole number expected"},
    {HEAD "{\"op\":\"Send\",\"rank\":0,\"tag\":2147483648}",
     "t:2:29: a number from -2147483648 to 2147483647 expected"},
    {HEAD "{\"op\":\"Send\",\"rank\":0,\"type\":\"dobule\"}", "t:2:30: unknown type \"dobule\""},
    {HEAD "{\"op\":\"Send\",\"rank\":0,\"site\":3}", "t:2:30: site 3 is not declared above"},
    {HEAD "{\"op\":\"Send\",\"rank\":0,\"state\":\"gone\"}", "t:2:31: unknown word \"gone\""},
    {HEAD "{\"op\":\"Send\",\"rank\":0,\"comm\":5}", "t:2:1: no communicator 5"},
    {HEAD "{\"op\":\"Wait\",\"rank\":0,\"request\":5}", "t:2:1: rank 0 has no operation 5"},
    {HEAD "{\"op\":\"Send\",\"rank\":0,\"requests\":[0]}",
     "t:2:1: \"requests\" of an operation that is no wait"},
    {HEAD "{\"op\":\"Waitall\",\"rank\":0,\"requests\":[1]}\n{\"op\":\"Waitany\",\"rank\":0,"
          "\"requests\":[0]}",
     "t:2:1: \"requests\" names a wait"},
    {HEAD "{\"op\":\"Wait\",\"rank\":0,\"request\":0}", "t:2:1: \"request\" names a wait"},
    {HEAD "{\"op\":\"Send\",\"rank\":0,\"id\":1}\n{\"op\":\"Send\",\"rank\":0,\"id\":1}",
     "t:3:1: operation 1 of rank 0 twice"},
    {HEAD "{\"op\":\"Send\",\"rank\":0,\"deps\":[0]}", "t:2:1: 0 depends on itself"},
    {HEAD "{\"op\":\"Send\",\"rank\":0,\"pass\":0,\"deps\":[]}",
     "t:2:1: operations of pass 0 are in program order: no deps"},
    {HEAD "{\"op\":\"Send\",\"rank\":0,\"pass\":1,\"deps\":[]}\n{\"node\":1,\"rank\":0}",
     "t:1:1: deps of operations and node lines do not mix in one file"},
    {HEAD "{\"node\":1,\"rank\":0}\n{\"op\":\"Send\",\"rank\":0,\"pass\":1,\"deps\":[]}",
     "t:1:1: deps of operations and node lines do not mix in one file"},
    {HEAD "{\"comm\":1,\"members\":[0,2]}", "t:2:24: a number from 0 to 1 expected"},
    {HEAD "{\"op\":\"Send\",\"rank\":0,\"count\":9223372036854775807}",
     "t:2:31: a number from -144115188075855872 to 144115188075855872 expected"},
    {HEAD "{\"comm\":1,\"size\":5}", "t:2:1: more members than there are ranks"},
    {HEAD "{\"comm\":1}\n{\"comm\":1}", "t:3:1: communicator 1 twice"},
    {HEAD "{\"node\":1,\"rank\":0}\n{\"node\":1,\"rank\":0}", "t:3:1: node 1 of rank 0 twice"},
    {HEAD "{\"pass\":0,\"rank\":0}", "t:2:9: passes count from 1"},
    {HEAD "{\"edge\":[0,1,2]}", "t:2:1: rank 0 has no node 1"},
    {HEAD "{\"note\":\"much too long\"}", "t:2:9: a text of at most 7 bytes expected"},
    {HEAD "{\"metric\":\"a\\u0000b\"}", "t:2:13: a text may not hold the character U+0000"},
    {HEAD "{\"metric\":\"a\\ud800\"}", "t:2:13: half a surrogate pair"},
    {HEAD "{\"metric\":\"\xff\"}", "t:2:12: not UTF-8"},
    {HEAD "{\"metric\":\"\xc0\xaf\"}", "t:2:12: not UTF-8"},
    {HEAD "{\"metric\":\"a", "t:2:11: a text without end"},
    {HEAD "{\"metric\":\"m\",\"value\":01}", "t:2:23: a number may not begin with 0"},
    {HEAD "{\"metric\":\"m\",\"value\":1.}", "t:2:25: a digit expected, not '}'"},
    {HEAD "{\"metric\":\"m\",\"value\":nul}", "t:2:23: null, true or false expected, not 'n'"},
};

/* A key that no line has, behind each that a line may begin with: refused, and told. (What a finding says is not read.) */
static void test_one_more(void)
{
    static const char *const lines[] = {
        HEAD "{\"strings\":[\"x\"]",
        HEAD "{\"strings\":[]",
        HEAD "{\"site\":0,\"at\":[\"f\",2,\"\"]",
        HEAD "{\"comm\":1,\"size\":1",
        HEAD "{\"node\":1,\"rank\":0",
        HEAD "{\"node\":1,\"rank\":0}\n{\"node\":2,\"rank\":0}\n{\"edge\":[0,1,2]",
        HEAD "{\"pass\":1,\"rank\":0",
        HEAD "{\"rank\":0",
        HEAD "{\"op\":\"Barrier\",\"rank\":0",
        HEAD "{\"note\":\"M001\",\"rank\":0",
        HEAD "{\"gradient\":\"x\",\"rank\":0",
        HEAD "{\"metric\":\"m\",\"value\":1",

        "{\"simrun\":1,\"ranks\":2"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[400];
        struct failure failure = {0};
        snprintf(text, sizeof text, "%s,\"none_has_this\":64,\"nor_this\":8}\n", lines[i]);
        struct trace *trace = format_read_memory("t", text, strlen(text), &failure);
        tap_ok(!trace && failure.code == FAILURE_INPUT && failure.text[0], "line %zu: %s", i,
               failure.text);
        trace_free(trace);
    }
}

static void test_refusals(void)
{
    test_one_more();
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        sample_refused("t", malformed[i].text, strlen(malformed[i].text), malformed[i].expected);
    char deep[512] = HEAD "{\"finding\":";
    size_t used = strlen(deep);
    memset(deep + used, '[', 100);
    sample_refused("t", deep, used + 100, "t:2:75: nested deeper than 64");
}

/* Every prefix of a good file is read or refused, and nothing leaks (the sanitizers' variant
 * looks). */
static void test_prefixes(void)
{
    uint64_t state = 7;
    struct trace *trace = random_trace(&state);
    size_t size = 0, refused = 0, tried = 0;
    char *text = trace ? sample_write(trace, "jsonl", &size) : NULL;
    for (size_t length = 0; text && length < size; length += 1 + length / 200, tried++) {
        struct failure failure = {0};
        struct trace *part = format_read_memory("part", text, length, &failure);
        refused += !part && failure.code == FAILURE_INPUT && failure.text[0];
        trace_free(part);
    }
    tap_ok(refused > tried / 2, "a file cut short inside a line is refused");
    trace_free(trace);
    free(text);
}

/* The same operations, with the keys of each line in another order and blanks between everything:
 * what was guessed from the lines before changes nothing. */
static void test_order_of_keys(void)
{
    struct failure failure;
    char plain[8000], mixed[8000];
    size_t plain_used = 0, mixed_used = 0;
    const char *head = "{\"simrun\":1,\"ranks\":2}\n";
    plain_used += (size_t)sprintf(plain, "%s", head);
    mixed_used += (size_t)sprintf(mixed, "%s", head);
    for (int i = 0; i < 24; i++) {
        char keys[6][60];
        const char *name = i % 3 ? "Send" : "Iallreduce", *reduce = i % 3 ? "0" : "\"sum\"";
        sprintf(keys[0], "\"rank\"!:!%d", i % 2);
        sprintf(keys[1], "\"id\"!:!%d", i);
        sprintf(keys[2], "\"count\"!:!%d", i == 5 ? 1 << 30 : i);
        sprintf(keys[3], "\"type\"!:!\"%s\"", i % 5 ? "double" : "int");
        sprintf(keys[4], "\"reduce\"!:!%s", reduce);
        sprintf(keys[5], "\"begin\"!:!%s", i % 4 ? "18446744073709551615" : "7");
        plain_used += (size_t)sprintf(plain + plain_used, "{\"op\":\"%s\"", name);
        mixed_used += (size_t)sprintf(mixed + mixed_used, " { \"op\" : \"%s\"", name);
        for (int k = 0; k < 6; k++) {
            const char *key = keys[k], *other = keys[(k * 5 + i) % 6];
            plain[plain_used++] = mixed[mixed_used++] = ',';
            for (; *key; key++)
                if (*key != '!')
                    plain[plain_used++] = *key;
            for (; *other; other++)
                mixed[mixed_used++] = *other == '!' ? ' ' : *other;
        }
        plain_used += (size_t)sprintf(plain + plain_used, "}\n");
        mixed_used += (size_t)sprintf(mixed + mixed_used, " } \n");
    }
    struct trace *a = sample_read("t", plain, &failure);
    tap_ok(a != NULL, "operations in the usual form are read: %s", a ? "" : failure.text);
    struct trace *b = sample_read("t", mixed, &failure);
    tap_ok(b != NULL, "operations with blanks and other orders are read: %s",
           b ? "" : failure.text);
    bool same = a && b && trace_hash(a) == trace_hash(b) && a->op_count == b->op_count;
    for (size_t i = 0; same && i < a->op_count; i++)
        same = same_op(a, b, i);
    tap_ok(same, "and are the same");
    trace_free(a);
    trace_free(b);
}

struct listener {
    struct progress base;
    uint64_t last, total;
    unsigned calls;
    bool falls;
};

static void listen(struct progress *progress, const char *step, uint64_t done, uint64_t total,
                   const char *unit)
{
    struct listener *listener = (struct listener *)progress;
    listener->falls |= done < listener->last || strcmp(step, "reading") || strcmp(unit, "bytes");
    listener->last = done;
    listener->total = total;
    listener->calls++;
}

static void test_progress(void)
{
    enum { LINES = 3 * PROGRESS_ROWS };
    char path[] = "/tmp/simrun-jsonl-XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    struct listener listener = {.base = {.tell = listen}};
    struct failure failure = {0};
    fputs("{\"simrun\":1,\"ranks\":1}\n", file);
    for (int i = 0; i < LINES; i++)
        fputs("{\"op\":\"Barrier\",\"rank\":0}\n", file);
    long size = ftell(file);
    fclose(file);
    struct trace *trace = format_read_slowly(path, &listener.base, &failure);
    tap_ok(trace && trace->op_count == LINES, "a long file is read: %s", failure.text);
    tap_ok(listener.calls == 4 && !listener.falls && listener.total == (uint64_t)size &&
               listener.last > listener.total / 2,
           "and tells how far it is");
    trace_free(trace);
    unlink(path);
}

/* ---- which format a file is, and how its bytes come ---- */

static void test_recognised(void)
{
    static const struct {
        const char *text, *is; /* a trace's first operation, or what is said */
    } files[] = {
        {"{\"simrun\":1,\"ranks\":1}\n{\"op\":\"Barrier\",\"rank\":0}", "Barrier"},
        {"\xef\xbb\xbf"
         "0 barrier",
         "Barrier"},
        {" \t\r\n0 barrier", "Barrier"},
        {"12\tBarrier", "Barrier"},
        {"0 \t barrier", "Barrier"},
        {"# nothing\n0 barrier", "Barrier"},
        {"\xef\xbb\xbf{\"simrun\":1,\"ranks\":1}\n{\"op\":\"Barrier\",\"rank\":0}", "Barrier"},
        {"\xef\xbb\xbf{\"entries\":[]}", ""},
        {"\xef\xbb\xbf# nothing\n0 barrier", "Barrier"},
        {"\xef\xbb\xbf", "t:1:1: no format that is known begins like this"},
        {"0W0", "compute"},
        {"\xef\xbb\xbf\n0W0", "compute"},
        {"(0W0)", "compute"},
        {",0W0", "compute"},
        {"\"0W0\"", "compute"},
        {"12W0", "compute"},
        {"0W0 barrier", "t:1:5: the end of the cell expected"},
        {"0 1", "t:1:2: unknown action \"\""},
        {"0", "t:1:2: unknown action \"\""},
        {"{\"entries\":[]}", ""},
        {"{ \n\"entries\":[]}", ""},
        {"{\"simrum\":1}", "t:1:1: neither our own trace (\"simrun\" first) nor a Flight Recorder "
                           "dump (\"entries\")"},
        {"{\"simrun\":1,\"entries\":[]}", "t:1:13: unknown key \"entries\" of the header"},
        {"", "t:1:1: an empty file"},
        {"barrier", "t:1:1: no format that is known begins like this"},
        {"-1 barrier", "t:1:1: no format that is known begins like this"},
        {"[1]", "t:1:1: no format that is known begins like this"},
        {"\x7f", "t:1:1: no format that is known begins like this"},
        {"\x80", "t: byte 0: the pickle is cut short"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct failure failure;
        struct trace *trace = sample_read("t", files[i].text, &failure);
        const char *first =
            trace && trace->op_count ? op_kind_name(trace->ops[trace->op_count - 1].kind) : "";
        tap_is_str(trace ? first : failure.text, files[i].is, "file %zu is what it begins like",
                   i + 1);
        trace_free(trace);
    }
}

/* A file whose size nobody tells, as long as a buffer or a byte less or more. */
static void test_pipes(void)
{
    static const size_t sizes[] = {30, 65534, 65535, 65536, 65537, 131071, 131072, 131073, 262145};
    static const char head[] = "{\"simrun\":1,\"ranks\":1}\n",
                      line[] = "{\"op\":\"Barrier\",\"rank\":0}\n";
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *text = malloc(sizes[i] + sizeof line), path[40];
        size_t used = sizeof head - 1, lines = 0;
        int ends[2];
        memcpy(text, head, used);
        for (; used + sizeof line - 1 <= sizes[i]; used += sizeof line - 1, lines++)
            memcpy(text + used, line, sizeof line - 1);
        memset(text + used, '\n', sizes[i] - used);
        if (pipe(ends) != 0)
            break;
        pid_t child = fork();
        if (child == 0) {
            close(ends[0]);
            for (size_t at = 0, step; at < sizes[i]; at += step) { /* by pieces of odd sizes */
                ssize_t wrote =
                    write(ends[1], text + at, sizes[i] - at < 7777 ? sizes[i] - at : 7777);
                if (wrote <= 0)
                    _exit(1);
                step = (size_t)wrote;
            }
            _exit(0);
        }
        close(ends[1]);
        struct failure failure = {0};
        snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
        struct trace *trace = format_read(path, &failure);
        tap_is_int(trace ? (long)trace->op_count : -1, lines, "%zu bytes come through a pipe%s",
                   sizes[i], trace ? "" : failure.text);
        trace_free(trace);
        close(ends[0]);
        waitpid(child, NULL, 0);
        free(text);
    }
}

/* A finding is a line with what it has, and the places it names; the reader passes over it. */
static void test_findings(void)
{
    static const char source[] = HEAD "{\"node\":4,\"rank\":1}\n"
                                      "{\"op\":\"Barrier\",\"rank\":0,\"id\":0}\n"
                                      "{\"op\":\"Barrier\",\"rank\":1,\"id\":0}\n"
                                      "{\"op\":\"Barrier\",\"rank\":1,\"id\":1}\n";
    static const char *const expected[] = {
        "{\"finding\":\"D001\",\"severity\":\"error\",\"title\":\"a \\\"b\\\"\",\"ops\":["
        "{\"role\":\"culprit\",\"op\":[1,1]},{\"role\":\"none\"},"
        "{\"role\":\"partner\",\"node\":[1,4]}]}",
        "{\"finding\":\"L001\",\"severity\":\"warning\",\"fingerprint\":\"f\",\"title\":\"t\","
        "\"detail\":\"d\",\"models\":\"eager\",\"witness\":\"w\",\"repair\":\"r\","
        "\"inherited\":true,\"allowed\":true}"};
    struct failure failure;
    struct findings findings;
    size_t size;
    struct trace *trace = sample_read("t", source, &failure);
    findings_init(&findings);
    struct finding *finding = findings_add(&findings, "D001", "a \"b\"");
    finding_op_add(finding, 2, "culprit");
    finding_op_add(finding, 3, "none"); /* one behind the last */
    finding_node_add(finding, 0, "partner");
    finding = findings_add(&findings, "L001", "t");
    snprintf(finding->fingerprint, sizeof finding->fingerprint, "f");
    snprintf(finding->models, sizeof finding->models, "eager");
    finding_detail(finding, "d");
    finding->witness = strdup("w");
    finding->repair = strdup("r");
    finding->inherited = finding->allowed = true;
    char *text = trace ? sample_told(trace, &findings, "jsonl", &size) : NULL;
    const char *at = text ? strstr(text, "{\"finding\"") : NULL;
    for (size_t i = 0; i < 2; i++) {
        size_t length = at ? strcspn(at, "\n") : 0;
        char line[1000];
        snprintf(line, sizeof line, "%.*s", (int)length, at ? at : "");
        tap_is_str(line, expected[i], "the line of finding %zu", i);
        at = at && at[length] ? at + length + 1 : NULL;
    }
    tap_ok(at && !*at, "and nothing is behind them");
    struct trace *again = text ? sample_read("t", text, &failure) : NULL;
    tap_ok(again && !sample_difference(trace, again), "what is read again is the same: %s",
           failure.text);
    /* As many places as there is room for, whatever that is. */
    bool right = true;
    for (int places = 0; places < 40 && text; places++) {
        finding = findings_add(&findings, "D001", "many");
        for (int i = 0; i < places; i++)
            finding_op_add(finding, 0, "x");
        char *lines = sample_told(trace, &findings, "jsonl", &size),
             *events = sample_told(trace, &findings, "chrome", &size);
        int all = places * (places + 1) / 2;
        right = right && sample_count(lines, "{\"role\":\"x\",\"op\":[0,0]}") == all &&
                sample_count(events, "\"role\":\"x\"}}") == all;
        free(lines);
        free(events);
    }
    tap_ok(right, "each place is written once");
    findings_release(&findings);
    free(text);
    trace_free(trace);
    trace_free(again);
}

int main(void)
{
    test_round_trips();
    if (dice_takes_group(DICE_DEAR))
        test_progress();
    if (dice_takes_group(5))
        test_python();
    if (dice_takes_group(0)) {
        test_order_of_keys();
        test_minimum();
        test_deps();
        test_findings();
        test_refusals();
    }
    if (dice_takes_group(1))
        test_prefixes();
    if (dice_takes_group(2)) {
        test_recognised();
        test_pipes();
    }
    return tap_done();
}
