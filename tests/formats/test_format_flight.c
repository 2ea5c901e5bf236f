/* Flight Recorder dumps: entries to operations, pickles as JSON, folders, buffers that wrapped,
 * refusals. */
#include "checker/check.h"
#include "tests/formats/format_samples.h"

#include <unistd.h>

#define CONFIG                                                                                     \
    "\"version\":\"2.5\",\"pg_config\":{\"0\":{\"name\":\"0\",\"desc\":\"default_pg\",\"ranks\":"  \
    "\"[0, 1]\"},"                                                                                 \
    "\"1\":{\"name\":\"1\",\"desc\":\"tp\",\"ranks\":[1, 0]}}"
#define ENTRY(id, group, name, sizes, state)                                                       \
    "{\"record_id\":" #id ",\"process_group\":[\"" #group "\",\"x\"],\"collective_seq_id\":" #id   \
    ",\"p2p_seq_id\":" #id ",\"profiling_name\":\"nccl:" name "\",\"input_sizes\":" sizes          \
    ",\"input_dtypes\":[\"Float\"],\"output_sizes\":" sizes                                        \
    ",\"output_dtypes\":[\"Float\"],\"state\":\"" state                                            \
    "\",\"time_created_ns\":5,\"frames\":[{\"name\":\"all_reduce\",\"filename\":\"/x/torch/"       \
    "d.py\",\"line\":2}"                                                                           \
    ",{\"name\":\"step\",\"filename\":\"train.py\",\"line\":41}]}"

static const char first[] =
    "{" CONFIG ",\"entries\":[" ENTRY(0, 0, "all_reduce", "[[3,4]]", "completed") "," ENTRY(
        1, 0, "all_reduce", "[[8]]", "started") "," ENTRY(2, 1, "_all_gather_base", "[[2],[3]]",
                                                          "scheduled") "]}";
static const char second[] =
    "{" CONFIG ",\"entries\":[" ENTRY(0, 0, "all_reduce", "[[3,4]]", "completed") "," ENTRY(
        1, 1, "_all_gather_base", "[[2],[3]]", "started") "," ENTRY(2, 0, "all_reduce", "[[8]]",
                                                                    "scheduled") "]}";

static void test_one(void)
{
    struct failure failure;
    struct trace *trace = sample_read("dump_rank_0", first, &failure);
    if (!tap_ok(trace, "a dump is read: %s", failure.text))
        return;
    tap_is_int(trace->ranks, 2, "groups say how many ranks there are");
    tap_is_int(trace->op_count, 3, "entries are operations");
    tap_is_int(trace->ops[0].count, 12, "sizes are multiplied");
    tap_is_int(trace->ops[0].form->type, 0x210, "Float is float");
    tap_is_int(trace->ops[0].state, STATE_COMPLETE, "what completed, completed");
    tap_is_int(trace->ops[1].state, STATE_BLOCKED, "the rank stands in the next");
    tap_is_int(trace->ops[1].comm_seq, 1, "collectives of a group are counted");
    tap_is_int(trace->ops[2].state, STATE_NEVER, "and never reached what is behind it");
    tap_is_int(trace->ops[2].kind, OP_ALLGATHERV, "parts of different size are a v-form");
    tap_is_str(trace->comms[trace->ops[2].form->comm].name, "tp",
               "groups are communicators with their description");
    tap_is_int(trace->comms[trace->ops[2].form->comm].members[0], 1, "and their members in order");
    tap_is_int(trace->comms[trace->ops[0].form->comm].id, 1, "the group of all ranks is the world");
    tap_is_str(trace->sites[trace->ops[0].form->site].file, "train.py",
               "a place is outside the library");
    tap_is_int(trace->rank_info[1].state, RANK_RUNNING, "a rank without a dump may still run");
    trace_free(trace);
}

static bool put_file(const char *folder, const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *out = fopen(path, "w");
    bool done = out && fputs(text, out) >= 0;
    return out && fclose(out) == 0 && done;
}

static bool run(const char *format, const char *folder)
{
    char command[1024];
    snprintf(command, sizeof command, "cd %s && %s", folder, format);
    return system(command) == 0;
}

static void test_folder(const char *folder)
{
    struct failure failure = {0};
    struct check_options options;
    struct findings findings;
    bool written = put_file(folder, "dump_rank_0", first) &&
                   put_file(folder, "dump_rank_1", second) &&
                   put_file(folder, ".hidden", "nothing");
    struct trace *trace = written ? format_read(folder, &failure) : NULL;
    if (!tap_ok(trace, "a folder of dumps is read: %s", failure.text))
        return;
    tap_is_int(trace->rank_begin[1], 3, "each file is a rank");
    check_options_init(&options);
    findings_init(&findings);
    check_trace(trace, &options, &findings);
    bool found = findings.count > 0 && strcmp(findings.items[0].code, "D001") == 0;
    tap_ok(found, "two groups waited for in opposite order are a deadlock");
    tap_is_int(findings.count, 1, "and nothing else");
    findings_release(&findings);
    trace_free(trace);
    tap_ok(put_file(folder, "dump_rank_2", "0 init\n") && !format_read(folder, &failure) &&
               strstr(failure.text, "dump_rank_2:1:1: a folder holds"),
           "a file of another format is refused by name");
    tap_ok(put_file(folder, "dump_rank_2", first) && run("mv dump_rank_2 second_1.json", folder) &&
               !format_read(folder, &failure) &&
               strstr(failure.text, "second_1.json:1:1: a second dump of rank 1"),
           "two dumps of one rank are refused");
    run("rm -f second_1.json", folder);
}

static void test_pickles(const char *folder)
{
    static const char convert[] =
        "python3 -c \"import json, pickle, sys\n"
        "for p in (2, 3, 4, 5): pickle.dump(json.load(open('dump_rank_0')), open(f'../p{p}_0', "
        "'wb'), p)\" && "
        "for p in 2 3 4 5; do mv ../p${p}_0 pickle$p.0; done";
    struct failure failure = {0};
    if (system("python3 -c 0 >/dev/null 2>&1") != 0) {
        tap_skip(4, "python3 is absent");
        return;
    }
    struct trace *json = sample_read("dump_rank_0", first, &failure);
    bool converted = run(convert, folder);
    for (int protocol = 2; protocol <= 5; protocol++) {
        char path[300];
        snprintf(path, sizeof path, "%s/pickle%d.0", folder, protocol);
        struct trace *trace = converted ? format_read(path, &failure) : NULL;
        if (trace)
            snprintf(trace->program, sizeof trace->program, "dump_rank_0");
        const char *difference = trace ? sample_difference(json, trace) : failure.text;
        tap_is_str(difference, NULL, "a pickle of protocol %d reads as its JSON", protocol);
        trace_free(trace);
    }
    trace_free(json);
}

static void test_messages(void)
{
    struct failure failure;
    struct trace *trace = sample_read(
        "d0",
        "{" CONFIG ",\"entries\":[" ENTRY(0, 0, "send 0->1", "[[1]]", "completed") "," ENTRY(
            1, 1, "recv 1<-0", "[[1]]",
            "completed") ","
                         "{\"record_id\":2,\"process_group\":[\"1\",\"\"],\"p2p_seq_id\":1,"
                         "\"profiling_name\":\"nccl:coalesced\",\"state\":\"completed\"}," ENTRY(
                             3, 0, "recv 0<-1", "[[1]]",
                             "scheduled") "," ENTRY(4, 0, "barrier", "[]", "completed") "]}",
        &failure);
    if (!tap_ok(trace, "messages are read: %s", failure.text))
        return;
    tap_is_int(trace->ops[0].peer, 1, "a peer is a rank of its group");
    tap_is_int(trace->ops[0].kind, OP_SEND, "a message alone blocks");
    tap_is_int(trace->ops[1].peer, 1, "named by the group's members");
    tap_is_int(trace->ops[1].form->batch, 1, "a coalesced entry closes a batch");
    tap_is_int(trace->ops[2].kind, OP_WAITALL, "and waits for it");
    tap_is_int(trace->ops[1].request, 2, "for all of it");
    tap_is_int(trace->ops[3].kind, OP_IRECV, "what did not complete although something later did");
    tap_is_int(trace->ops[3].state, STATE_POSTED, "is pending");
    trace_free(trace);
}

/* Rank 0 has lost entry 0; rank 1 still has it: both count from 1. */
static void test_wrapped(const char *folder)
{
    struct failure failure = {0};
    bool written =
        put_file(folder, "w_0",
                 "{" CONFIG
                 ",\"entries\":[" ENTRY(1, 0, "all_reduce", "[[5]]", "completed") "]}") &&
        put_file(folder, "w_1",
                 "{" CONFIG
                 ",\"entries\":[" ENTRY(0, 0, "broadcast", "[[7]]", "completed") "," ENTRY(
                     1, 0, "all_reduce", "[[5]]", "completed") "]}");
    struct trace *trace = written ? format_read(folder, &failure) : NULL;
    if (!tap_ok(trace, "a buffer that wrapped is read: %s", failure.text))
        return;
    tap_is_int(trace->op_count, 2, "what other ranks have lost is left out");
    tap_is_int(trace->ops[1].kind, OP_ALLREDUCE, "what all have is kept");
    tap_is_int(trace->ops[1].comm_seq, trace->ops[0].comm_seq, "and counted alike");
    trace_free(trace);
}

/* Parts of several sizes are a v-form, none of them too. */
static void test_sizes(void)
{
    static const struct {
        const char *gathered, *scattered;
        int kinds[2];
    } rows[] = {
        {ENTRY(0, 0, "all_gather", "[[4],[4]]", "completed"),
         ENTRY(1, 0, "reduce_scatter", "[[4],[4]]", "completed"),
         {OP_ALLGATHER, OP_REDUCE_SCATTER_BLOCK}},
        {ENTRY(0, 0, "all_gather", "[[0],[4]]", "completed"),
         ENTRY(1, 0, "reduce_scatter", "[[0],[4]]", "completed"),
         {OP_ALLGATHERV, OP_REDUCE_SCATTER}},
        {ENTRY(0, 0, "all_gather", "[[4],[0]]", "completed"),
         ENTRY(1, 0, "reduce_scatter", "[[1],[0]]", "completed"),
         {OP_ALLGATHERV, OP_REDUCE_SCATTER}},
        {ENTRY(0, 0, "all_gather", "[[0],[0]]", "completed"),
         ENTRY(1, 0, "reduce_scatter", "[[0],[0]]", "completed"),
         {OP_ALLGATHER, OP_REDUCE_SCATTER_BLOCK}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[4096];
        struct failure failure;
        snprintf(text, sizeof text, "{" CONFIG ",\"entries\":[%s,%s]}", rows[i].gathered,
                 rows[i].scattered);
        struct trace *trace = sample_read("d0", text, &failure);
        for (size_t k = 0; k < 2; k++)
            tap_is_int(trace && trace->op_count == 2 ? (int)trace->ops[k].kind : -1,
                       rows[i].kinds[k], "sizes of row %zu, operation %zu: %s", i, k, failure.text);
        trace_free(trace);
    }
}

/* What is no list of sizes says nothing. */
static void test_no_sizes(void)
{
    static const char *const entries[] = {
        ENTRY(0, 0, "all_reduce", "null", "completed"),
        ENTRY(0, 0, "all_reduce", "7", "completed"),
        ENTRY(0, 0, "all_reduce", "\"[[4]]\"", "completed"),
        ENTRY(0, 0, "all_reduce", "{\"a\":[4],\"b\":[4]}", "completed"),
        ENTRY(0, 0, "all_reduce", "true", "completed"),
        ENTRY(0, 0, "all_reduce", "[]", "completed")};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        char text[1024];
        struct failure failure = {0};
        snprintf(text, sizeof text, "{" CONFIG ",\"entries\":[%s]}", entries[i]);
        struct trace *trace = sample_read("d0", text, &failure);
        tap_is_int(trace && trace->op_count == 1 ? trace->ops[0].count : -1, 0,
                   "no elements are told by %zu: %s", i, failure.text);
        trace_free(trace);
    }
}

/* Two groups of the same ranks, messages in turns. Rank 0 has lost the first of each group: so has rank 1 then. */
static void test_channels(const char *folder)
{
    struct failure failure = {0};
    bool written =
        put_file(folder, "c_0",
                 "{" CONFIG
                 ",\"entries\":[" ENTRY(2, 0, "send 0->1", "[[1]]", "completed") "," ENTRY(
                     3, 1, "send 1->0", "[[2]]", "completed") "," ENTRY(4, 0, "send 0->1", "[[3]]",
                                                                        "completed") "]}") &&
        put_file(
            folder, "c_1",
            "{" CONFIG ",\"entries\":[" ENTRY(0, 0, "recv 1<-0", "[[8]]", "completed") "," ENTRY(
                1, 1, "recv 0<-1", "[[9]]",
                "completed") "," ENTRY(2, 0, "recv 1<-0", "[[1]]",
                                       "completed") "," ENTRY(3, 1,
                                                              "recv "
                                                              "0<-1",
                                                              "[[2]]",
                                                              "complete"
                                                              "d") "," ENTRY(4, 0, "recv 1<-0",
                                                                             "[[3]]",
                                                                             "completed") "]}");
    struct trace *trace = written ? format_read(folder, &failure) : NULL;
    if (!tap_ok(trace, "messages of two groups in turns: %s", failure.text))
        return;
    tap_is_int(trace->op_count, 6, "as many receives are left as sends");
    for (size_t i = 0; i < trace->op_count && trace->op_count == 6; i++)
        tap_is_int(trace->ops[i].count, 1 + (int)(i % 3), "and they are the last ones: %zu", i);
    trace_free(trace);
}

/* Of two dumps that are wrong the first is told. */
static void test_two_wrong(const char *folder)
{
    struct failure failure = {0};
    bool written = put_file(folder, "b_0", "{\"entries\":1}") &&
                   put_file(folder, "b_1", "{\"entries\":[\n\n{\"a\" 1}]}");
    tap_ok(written && !format_read(folder, &failure) && strstr(failure.text, "b_"),
           "two dumps are refused: %s", failure.text);
    struct failure other = {0};
    written = put_file(folder, "b_0", "{\"entries\":[\n\n{\"a\" 1}]}") &&
              put_file(folder, "b_1", "{\"entries\":1}");
    tap_ok(written && !format_read(folder, &other) && strstr(failure.text, "b_0") &&
               strstr(other.text, "b_0:3:"),
           "of both the first is told: %s", other.text);
}

#define TEXT(text) text, sizeof text - 1

static const struct {
    const char *data;
    size_t size;
    const char *expected;
} malformed[] = {
    {TEXT("{}"),
     "d0:1:1: neither our own trace (\"simrun\" first) nor a Flight Recorder dump (\"entries\")"},
    {TEXT("{\"entries\":1}"),
     "d0:1:1: neither our own trace (\"simrun\" first) nor a Flight Recorder dump (\"entries\")"},
    {TEXT("{\"entries\":[1]}"), "d0:1:12: an entry that is no dict"},
    {TEXT("{\"entries\":[{\"a\" 1}]}"), "d0:1:18: ':' expected, not '1'"},
    {TEXT("{\"entries\":[{1:1}]}"), "d0:1:14: a key expected"},
    {TEXT("{\n\"entries\":[\n{\"profiling_name\":\"nccl:magic\"}]}"),
     "d0:3:1: unknown operation \"nccl:magic\""},
    {TEXT("{\"entries\":[{\"profiling_name\":\"nccl:barrier\"}]}"),
     "d0:1:13: a state that is none of scheduled, started, completed"},
    {TEXT("{\"entries\":[{\"profiling_name\":\"nccl:all_reduce\",\"input_sizes\":[[-1]]}]}"),
     "d0:1:13: a size that is no number of elements"},
    {TEXT("{\"entries\":[{\"profiling_name\":\"nccl:all_reduce\",\"input_sizes\":[[4294967296,"
          "4294967296]]}]}"),
     "d0:1:13: a size that is no number of elements"},
    {TEXT("{\"entries\":[{\"profiling_name\":\"nccl:send 0->7\"}]}"),
     "d0:1:13: a message to or from a rank that the group lacks: \"0->7\""},
    {TEXT("{\"pg_config\":{\"0\":{}},\"entries\":[]}"),
     "d0:1:19: process group \"0\" without \"ranks\""},
    {TEXT("{\"pg_config\":{\"0\":{\"ranks\":5}},\"entries\":[]}"),
     "d0:1:19: process group \"0\" without \"ranks\""},
    {TEXT("{\"pg_config\":{\"0\":{\"ranks\":{\"0\":1}}},\"entries\":[]}"),
     "d0:1:19: process group \"0\" without \"ranks\""},
    {TEXT("{\"pg_config\":{\"0\":{\"ranks\":\"[0;1]\"}},\"entries\":[]}"),
     "d0:1:28: members of a process group expected, as in \"[0, 1]\""},
    {TEXT("{\"pg_config\":{\"0\":{\"ranks\":\"[99999999]\"}},\"entries\":[]}"),
     "d0:1:28: a member that is no rank from 0 to 1048575"},
    {TEXT("{\"pg_config\":{\"0\":{\"ranks\":[1]}},\"entries\":[{\"process_group\":[\"0\"]}]}"),
     "d0:1:45: rank 0 is not in its process group \"0\""},
    {TEXT("{\"pg_config\":{\"0\":{\"ranks\":[0]}},\"entries\":[{\"process_group\":[\"1\"]}]}"),
     "d0:1:45: process group \"1\" is not in \"pg_config\""},
    {TEXT("{\"rank\":9999999,\"entries\":[]}"), "d0:1:1: rank 9999999 is beyond 1048575"},
    {TEXT("\x80\x02}"), "d0: byte 3: the pickle is cut short"},
    {TEXT("\x80\x07}."), "d0: byte 0: a pickle of protocol 2 to 5 expected"},
    {TEXT("\x80\x02."), "d0: byte 2: the pickle ends with other than one value"},
    {TEXT("\x80\x02}.x"), "d0: byte 4: bytes behind the end of the pickle"},
    {TEXT("\x80\x02"
          "cos\nsystem\n(X\x01\x00\x00\x00wtR."),
     "d0: byte 2: the pickle would run code (GLOBAL): only plain data is read"},
    {TEXT("\x80\x04\x8c\x02os\x8c\x06system\x93."),
     "d0: byte 14: the pickle would run code (STACK_GLOBAL): only plain data is read"},
    {TEXT("\x80\x02}NR."),
     "d0: byte 4: the pickle would run code (REDUCE): only plain data is read"},
    {TEXT("\x80\x02}}b."),
     "d0: byte 4: the pickle would run code (BUILD): only plain data is read"},
    {TEXT("\x80\x02\x81."),
     "d0: byte 2: the pickle would run code (NEWOBJ): only plain data is read"},
    {TEXT("\x80\x02I1\n."), "d0: byte 2: opcode 0x49 is not one that plain data needs"},
    {TEXT("\x80\x02h\x05."), "d0: byte 2: a memo number that was never put"},
    {TEXT("\x80\x02}r\xff\xff\xff\xff."), "d0: byte 3: a memo number beyond the size of the file"},
    {TEXT("\x80\x02X\xff\xff\xff\x7f."), "d0: byte 2: the pickle is cut short"},
    {TEXT("\x80\x02\x8a\x09."), "d0: byte 2: an integer of more than 64 bits"},
    {TEXT("\x80\x02}(Nu."), "d0: byte 5: a key without a value"},
    {TEXT("\x80\x02](NNu."), "d0: byte 6: items for what is no dict"},
    {TEXT("\x80\x02}NNa."), "d0: byte 5: items for what is no list"},
    {TEXT("\x80\x02u."), "d0: byte 2: a mark is missing on the stack"},
    {TEXT("\x80\x02(u."), "d0: byte 3: a value is missing on the stack"},
    {TEXT("\x80\x02"
          "0."),
     "d0: byte 2: a value is missing on the stack"},
};

/* Ten thousand entries that are one, with a thousand sizes that are one. */
static void test_shared(void)
{
    char data[65536] = "\x80\x02}X\x07\x00\x00\x00"
                       "entries](";
    size_t used = 17;
    static const char entry[] = "}(X\x0e\x00\x00\x00profiling_nameX\x0f\x00\x00\x00nccl:all_"
                                "reduceX\x0b\x00\x00\x00input_sizes](](";
    memcpy(data + used, entry, sizeof entry - 1);
    used += sizeof entry - 1;
    for (int i = 0; i < 1000; i++, used += 2)
        memcpy(data + used, "K\x01", 2);
    memcpy(data + used, "eq\x01", 3); /* the list of sizes is 1 */
    used += 3;
    for (int i = 0; i < 10000; i++, used += 2)
        memcpy(data + used, "h\x01", 2);
    memcpy(data + used,
           "eX\x05\x00\x00\x00stateX\x09\x00\x00\x00"
           "completeduq\x02",
           28);
    used += 28;
    for (int i = 0; i < 10000; i++, used += 2)
        memcpy(data + used, "h\x02", 2);
    memcpy(data + used, "es.", 3);
    sample_refused("d0", data, used + 3,
                   "d0: byte 76: shared values expand to more than the file could hold");
}

/* Which rank a dump is of: what it says, else what its name ends in; and how many ranks its groups name. */
static void test_ranks(void)
{
    static const struct {
        const char *name, *text;
        uint32_t ranks; /* of the trace: one more than the highest */
    } rows[] = {{"dump_rank_3", "{\"entries\":[]}", 4},
                {"dump_rank_12", "{\"entries\":[]}", 13},
                {"dump_rank_12.json", "{\"entries\":[]}", 13},
                {"dump7_of_8.json", "{\"entries\":[]}", 9},
                {"dump.5", "{\"entries\":[]}", 6},
                {"dump", "{\"entries\":[]}", 1},
                {".dump6", "{\"entries\":[]}", 7}, /* hidden, without an extension */
                {".6dump9.json", "{\"entries\":[]}", 10},
                {"dump_4.", "{\"entries\":[]}", 5},
                {"dump_4.x9", "{\"entries\":[]}", 5},
                {"dump_4.9x", "{\"entries\":[]}", 10},
                {"dump_1234567", "{\"rank\":2,\"entries\":[]}", 3},
                {"dump_12345678", "{\"entries\":[]}", 1}, /* no rank has so many digits */
                {"dump_rank_3", "{\"rank\":0,\"entries\":[]}", 1},
                {"dump_rank_3", "{\"rank\":1,\"entries\":[]}", 2},
                {"dump_rank_3", "{\"rank\":-1,\"entries\":[]}", 4},
                {"dump_rank_3", "{\"rank\":\"no number\",\"entries\":[]}", 4},
                {"d0", "{\"pg_config\":{\"0\":{\"ranks\":\"[0, 12]\"}},\"entries\":[]}", 13},
                {"d0", "{\"pg_config\":{\"0\":{\"ranks\":\"[10,2,3]\"}},\"entries\":[]}", 11},
                {"d0", "{\"pg_config\":{\"0\":{\"ranks\":[0, 12]}},\"entries\":[]}", 13}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct failure failure = {0};
        struct trace *trace = sample_read(rows[i].name, rows[i].text, &failure);
        tap_is_int(trace ? trace->ranks : 0, rows[i].ranks, "%s: %s: %s", rows[i].name,
                   rows[i].text, failure.text);
        trace_free(trace);
    }
    /* A group named by a number is the one whose name has its digits. */
    struct failure failure;
    struct trace *numbered =
        sample_read("d0",
                    "{\"pg_config\":{\"12\":{\"ranks\":[0,1]}},\"entries\":[{\"process_group\":[12,"
                    "\"x\"],\"profiling_name\":\"nccl:barrier\",\"state\":\"completed\"}]}",
                    &failure);
    tap_ok(numbered && numbered->op_count == 1 &&
               numbered->comms[numbered->ops[0].form->comm].size == 2,
           "a group named by a number: %s", failure.text);
    trace_free(numbered);
    static const char beyond[] = "{\"rank\":1048576,\"entries\":[]}";
    sample_refused("d", beyond, strlen(beyond), "d:1:1: rank 1048576 is beyond 1048575");
}

/* ---- random jobs ---- */

/* A job is drawn as what its ranks enqueue, in one order for all; each rank's dump has a part of its list, and how far each entry came. What
 * must come of that is said here by the rules of docs/formats.md alone. */
enum { JOB_RANKS = 4, JOB_GROUPS = 3, JOB_EVENTS = 14, JOB_ROWS = 40, JOBS = 120 };

static const struct {
    const char *name;
    enum op_kind kind;
    bool out; /* counts what comes out */
} job_kinds[] = {{"all_reduce", OP_ALLREDUCE, false},
                 {"all_reduce_sparse", OP_ALLREDUCE, false},
                 {"all_reduce_coalesced", OP_ALLREDUCE, false},
                 {"allreduce_coalesced", OP_ALLREDUCE, false},
                 {"broadcast", OP_BCAST, false},
                 {"_broadcast_oop", OP_BCAST, false},
                 {"reduce", OP_REDUCE, false},
                 {"_reduce_oop", OP_REDUCE, false},
                 {"all_gather", OP_ALLGATHER, false},
                 {"_all_gather_base", OP_ALLGATHER, false},
                 {"all_gather_into_tensor_coalesced", OP_ALLGATHER, false},
                 {"reduce_scatter", OP_REDUCE_SCATTER_BLOCK, true},
                 {"_reduce_scatter_base", OP_REDUCE_SCATTER_BLOCK, true},
                 {"reduce_scatter_tensor_coalesced", OP_REDUCE_SCATTER_BLOCK, true},
                 {"gather", OP_GATHER, false},
                 {"scatter", OP_SCATTER, true},
                 {"all_to_all", OP_ALLTOALLV, false},
                 {"all_to_allv", OP_ALLTOALLV, false}};

static const struct {
    const char *name;
    uint32_t type;
    int bytes; /* of one element, where it is counted in bytes */
} job_types[] = {{"Float", 0x210, 1},        {"Double", 0x214, 1},        {"Half", 0x2ca, 1},
                 {"Int", 0x250, 1},          {"Long", 0x258, 1},          {"Short", 0x248, 1},
                 {"Char", 0x240, 1},         {"Byte", 0x241, 1},          {"Bool", 0x239, 1},
                 {"UInt16", 0x249, 1},       {"UInt32", 0x251, 1},        {"UInt64", 0x259, 1},
                 {"ComplexFloat", 0x213, 1}, {"ComplexDouble", 0x217, 1}, {"BFloat16", 0, 2},
                 {"Float8_e4m3fn", 0, 1}};

enum row_form { COLLECTIVE, BARRIER, SENDS, RECEIVES, CLOSES };

struct job_row {
    enum row_form form;
    int group, other, number, kind, type,
        batch;         /* other: rank of the world; number: in the group */
    int in[2], out[2]; /* elements of two tensors; 0: none */
    bool completed, started, dropped;
};

struct job {
    int ranks, groups, size[JOB_GROUPS], members[JOB_GROUPS][JOB_RANKS];
    int numbers[JOB_GROUPS], rows[JOB_RANKS], lost[JOB_RANKS];
    struct job_row table[JOB_RANKS][JOB_ROWS];
};

static uint64_t job_dice;

static int job_below(int limit)
{
    return (int)dice_below(&job_dice, (uint32_t)limit);
}

static void draw_groups(struct job *job)
{
    job->ranks = 2 + job_below(JOB_RANKS - 1);
    job->groups = 1 + job_below(JOB_GROUPS);
    for (int g = 0; g < job->groups; g++) {
        int order[JOB_RANKS];
        job->size[g] = g ? 2 + job_below(job->ranks - 1) : job->ranks;
        for (int i = 0; i < job->ranks; i++)
            order[i] = i;
        for (int i = 0; i < job->size[g]; i++) {
            int pick = g ? i + job_below(job->ranks - i) : i, member = order[pick];
            order[pick] = order[i];
            job->members[g][i] = order[i] = member;
        }
    }
}

static struct job_row *job_add(struct job *job, int rank, struct job_row row)
{
    job->table[rank][job->rows[rank]] = row;
    return &job->table[rank][job->rows[rank]++];
}

/* Two ranks of a group exchange messages; alone, or closed as one batch. */
static void draw_messages(struct job *job, int group)
{
    int one = job_below(job->size[group]),
        two = (one + 1 + job_below(job->size[group] - 1)) % job->size[group];
    int ranks[2] = {job->members[group][one], job->members[group][two]},
        number = ++job->numbers[group];
    bool both = job_below(2), batch = job_below(2);
    for (int i = 0; i < 2; i++) {
        struct job_row row = {.group = group,
                              .other = ranks[1 - i],
                              .number = number,
                              .type = 0,
                              .in = {3},
                              .out = {3}};
        for (int k = 0; k < 1 + both; k++) {
            row.form = (i + k) % 2 ? RECEIVES : SENDS;
            row.batch = batch;
            job_add(job, ranks[i], row);
        }
        row.form = CLOSES;
        if (batch)
            job_add(job, ranks[i], row);
    }
}

static void draw_job(struct job *job)
{
    memset(job, 0, sizeof *job);
    draw_groups(job);
    for (int e = 4 + job_below(JOB_EVENTS - 4); e > 0; e--) {
        int group = job_below(job->groups);
        if (job_below(3) == 0) {
            draw_messages(job, group);
            continue;
        }
        struct job_row row = {.form = job_below(6) ? COLLECTIVE : BARRIER,
                              .group = group,
                              .number = ++job->numbers[group]};
        row.kind = job_below(sizeof job_kinds / sizeof *job_kinds);
        row.type = job_below(sizeof job_types / sizeof *job_types);
        row.in[0] = 1 + job_below(5);
        row.in[1] = job_below(3) ? 0 : 1 + job_below(5);
        row.out[0] = 1 + job_below(5);
        row.out[1] = job_below(3) ? 0 : 1 + job_below(5);
        for (int i = 0; i < job->size[group]; i++)
            job_add(job, job->members[group][i], row);
    }
    for (int rank = 0; rank < job->ranks; rank++) {
        int done = job_below(job->rows[rank] + 1);
        job->lost[rank] = job_below(2) ? 0 : job_below(job->rows[rank] + 1);
        for (int i = 0; i < job->rows[rank]; i++) {
            struct job_row *row = &job->table[rank][i];
            row->completed = i < done && job_below(12);
            row->started = !row->completed && job_below(2);
        }
    }
}

static void print_sizes(FILE *out, const char *key, const int *sizes)
{
    fprintf(out, ",\"%s_sizes\":[[%d]", key, sizes[0]);
    if (sizes[1])
        fprintf(out, ",[1,%d,1]", sizes[1]);
    fprintf(out, "]");
}

static void print_dump(const struct job *job, int rank, FILE *out)
{
    fprintf(out, "{\"pg_config\":{");
    for (int g = 0; g < job->groups; g++) {
        bool text = (rank + g) % 2;
        fprintf(out, "%s\"g%d\":{\"desc\":\"%s\",\"ranks\":%s[", g ? "," : "", g,
                g == 1 ? "undefined"
                : g    ? "tp"
                       : "all",
                text ? "\"" : "");
        for (int i = 0; i < job->size[g]; i++)
            fprintf(out, "%s%d", i ? ", " : "", job->members[g][i]);
        fprintf(out, "]%s}", text ? "\"" : "");
    }
    fprintf(out, "},\"entries\":[");
    for (int i = job->lost[rank]; i < job->rows[rank]; i++) {
        const struct job_row *row = &job->table[rank][i];
        int mine = 0, other = 0;
        for (int k = 0; k < job->size[row->group]; k++) {
            mine = job->members[row->group][k] == rank ? k : mine;
            other = job->members[row->group][k] == row->other ? k : other;
        }
        fprintf(out,
                "%s{\"record_id\":%d,\"process_group\":[\"g%d\",\"\"],\"profiling_name\":\"nccl:",
                i > job->lost[rank] ? "," : "", i, row->group);
        if (row->form == SENDS)
            fprintf(out, "send %d->%d", mine, other);
        else if (row->form == RECEIVES)
            fprintf(out, "recv %d<-%d", mine, other);
        else
            fprintf(out, "%s",
                    row->form == CLOSES    ? "coalesced"
                    : row->form == BARRIER ? (i % 2 ? "barrier" : "all_reduce_barrier")
                                           : job_kinds[row->kind].name);
        fprintf(out, "\",\"%s_seq_id\":%d,\"state\":\"%s\"",
                row->form >= SENDS ? "p2p" : "collective", row->number,
                row->completed ? "completed"
                : row->started ? "started"
                               : "scheduled");
        print_sizes(out, "input", row->in);
        print_sizes(out, "output", row->out);
        fprintf(out, ",\"input_dtypes\":[\"%s\"],\"output_dtypes\":[\"%s\"]",
                job_types[row->type].name, job_types[row->type].name);
        fprintf(out, ",\"time_created_ns\":%d,\"time_discovered_completed_ns\":%d", 100 + i,
                200 + i);
        if (i % 3)
            fprintf(out, ",\"time_discovered_started_ns\":%d", 150 + i);
        fprintf(out,
                ",\"frames\":[{\"name\":\"f\",\"filename\":\"/torch/"
                "x.py\",\"line\":1},{\"name\":\"g%d\",\"filename\":\"mine.py\",\"line\":%d}]}",
                i, i + 1);
    }
    fprintf(out, "]}");
}

/* Collectives that some dump has lost, of those that have lost anything; messages whose partners are lost. */
static void drop_lost(struct job *job)
{
    for (int g = 0; g < job->groups; g++) {
        int oldest = 0;
        for (int rank = 0; rank < job->ranks; rank++)
            for (int i = job->lost[rank]; i < job->rows[rank] && job->lost[rank]; i++)
                if (job->table[rank][i].form <= BARRIER && job->table[rank][i].group == g) {
                    oldest =
                        job->table[rank][i].number > oldest ? job->table[rank][i].number : oldest;
                    break;
                }
        for (int rank = 0; rank < job->ranks; rank++)
            for (int i = 0; i < job->rows[rank]; i++) {
                struct job_row *row = &job->table[rank][i];
                row->dropped = i < job->lost[rank] || (row->dropped && row->group != g) ||
                               (row->form <= BARRIER && row->group == g && row->number < oldest);
            }
    }
    for (int from = 0; from < job->ranks; from++)
        for (int to = 0; to < job->ranks; to++)
            for (int g = 0; g < job->groups; g++) {
                int count[2] = {0, 0}, ends[2] = {from, to};
                for (int end = 0; end < 2; end++)
                    for (int i = job->lost[ends[end]]; i < job->rows[ends[end]]; i++) {
                        const struct job_row *row = &job->table[ends[end]][i];
                        count[end] += row->form == (end ? RECEIVES : SENDS) && row->completed &&
                                      row->group == g && row->other == ends[1 - end];
                    }
                for (int end = 0; end < 2; end++) {
                    int surplus = job->lost[ends[1 - end]] &&
                                          job->lost[ends[1 - end]] < job->rows[ends[1 - end]]
                                      ? count[end] - count[1 - end]
                                      : 0;
                    for (int i = job->lost[ends[end]]; i < job->rows[ends[end]] && surplus > 0;
                         i++) {
                        struct job_row *row = &job->table[ends[end]][i];
                        if (row->form == (end ? RECEIVES : SENDS) && row->completed &&
                            row->group == g && row->other == ends[1 - end])
                            row->dropped = true, surplus--;
                    }
                }
            }
}

/* The kind, and how many elements; parts of different size are a v-form of what is on the other side. */
static enum op_kind kind_of(const struct job_row *row, int64_t *count)
{
    const int *own = job_kinds[row->kind].out ? row->out : row->in,
              *other = job_kinds[row->kind].out ? row->in : row->out;
    enum op_kind kind = job_kinds[row->kind].kind;
    int sum = own[0] + own[1];
    if ((kind == OP_ALLGATHER || kind == OP_REDUCE_SCATTER_BLOCK) && other[1] &&
        other[0] != other[1]) {
        kind = kind == OP_ALLGATHER ? OP_ALLGATHERV : OP_REDUCE_SCATTER;
        sum = other[0] + other[1];
    }
    *count = (int64_t)sum * job_types[row->type].bytes;
    return kind;
}

static const char *row_differs(const struct job *job, const struct trace *trace,
                               const struct trace_op *op, const struct job_row *row, int index,
                               enum op_state state)
{
    bool message = row->form == SENDS || row->form == RECEIVES, pending = state == STATE_POSTED;
    int64_t count = 0;
    enum op_kind kind = OP_WAITALL;
    if (row->form == BARRIER)
        kind = OP_BARRIER;
    else if (row->form == COLLECTIVE)
        kind = kind_of(row, &count);
    else if (message)
        kind = row->form == SENDS ? OP_SEND : OP_RECV, count = 3;
    if (message && (row->batch || pending))
        kind = row->form == SENDS ? OP_ISEND : OP_IRECV;
    if (row->form == CLOSES && pending)
        state = STATE_COMPLETE;
    if (message && row->batch && state == STATE_BLOCKED)
        state = STATE_POSTED;
    const struct trace_comm *comm =
        op->form->comm == TRACE_NO ? NULL : &trace->comms[op->form->comm];
    if (op->kind != kind || op->state != state || op->count != count)
        return "kind, state or count";
    if (row->form == CLOSES ? comm != NULL
                            : !comm || comm->size != (uint32_t)job->size[row->group] ||
                                  memcmp(comm->members, job->members[row->group],
                                         comm->size * sizeof *comm->members))
        return "group";
    if (message ? op->peer != row->other || op->tag != 0 || !op->form->batch != !row->batch
                : op->peer != TRACE_NONE)
        return "peer";
    if (row->form <= BARRIER && op->flags != (pending ? OP_NONBLOCKING : 0))
        return "flags";
    if ((message || row->form == COLLECTIVE) &&
        (op->form->type != job_types[row->type].type ||
         (op->form->type ? op->form->signature != op->form->type : !op->form->signature)))
        return "type";
    struct trace_times times = trace_op_times(trace, op);
    if (times.begin_ns != (uint64_t)(index % 3 ? 150 : 100) + (uint64_t)index ||
        times.end_ns != (state == STATE_COMPLETE ? 200u + (uint64_t)index : 0))
        return "times";
    const struct trace_site *site =
        op->form->site == TRACE_NO ? NULL : &trace->sites[op->form->site];
    return site && site->line == index + 1 && !strcmp(site->file, "mine.py") ? NULL : "site";
}

static const char *rank_differs(const struct job *job, const struct trace *trace, int rank)
{
    int last = job->rows[rank], numbers[JOB_GROUPS] = {0};
    bool stands = false;
    size_t at = trace->rank_begin[rank], posted = 0;
    while (last > job->lost[rank] && !job->table[rank][last - 1].completed)
        last--;
    for (int i = job->lost[rank]; i < job->rows[rank]; i++) {
        const struct job_row *row = &job->table[rank][i];
        enum op_state state = row->completed ? STATE_COMPLETE
                              : i < last     ? STATE_POSTED
                              : stands       ? STATE_NEVER
                                             : STATE_BLOCKED;
        if (row->dropped)
            continue;
        bool message = row->form == SENDS || row->form == RECEIVES;
        bool in_batch = message && row->batch, first_open = state == STATE_BLOCKED && !in_batch;
        stands = stands || first_open;
        if (row->form == CLOSES && !posted)
            continue; /* its messages are lost */
        if (at == trace->rank_begin[rank + 1])
            return "too few operations";
        const char *different = row_differs(job, trace, &trace->ops[at], row, i, state);
        if (different) {
            tap_note("rank %d, entry %d", rank, i);
            return different;
        }
        if (row->form <= BARRIER && trace->ops[at].comm_seq != (uint32_t)numbers[row->group]++)
            return "number";
        if (row->form == CLOSES) {
            uint32_t starts[4];
            if (trace_op_requests(trace, (uint32_t)at, starts, 4) != posted ||
                starts[0] != at - posted)
                return "what a batch waits for";
        }
        posted = in_batch ? posted + 1 : 0;
        at++;
    }
    if (at != trace->rank_begin[rank + 1])
        return "too many operations";
    return trace->rank_info[rank].state == (stands ? RANK_BLOCKED : RANK_RUNNING)
               ? NULL
               : "how the rank ended";
}

static bool job_reads(struct job *job, const char *folder, unsigned long long seed)
{
    static const char *const file_names[] = {"dump_rank_%d", "12-rank_%d.json", "rank%d.pt",
                                             "d.%d"};
    struct failure failure = {0};
    char path[300], name[40];
    const char *pattern = file_names[job_below(4)];
    for (int rank = 0; rank < job->ranks; rank++) {
        snprintf(name, sizeof name, "%s", pattern);
        char *hole = strstr(name, "%d");
        hole[0] = (char)('0' + rank);
        memmove(hole + 1, hole + 2, strlen(hole + 2) + 1);
        snprintf(path, sizeof path, "%s/%s", folder, name);
        FILE *out = fopen(path, "w");
        print_dump(job, rank, out);
        fclose(out);
    }
    struct trace *trace = format_read(folder, &failure);
    drop_lost(job);
    const char *different = trace ? NULL : failure.text;
    for (int rank = 0; rank < job->ranks && !different; rank++)
        different = rank_differs(job, trace, rank);
    bool stuck = false;
    for (int rank = 0; trace && rank < job->ranks; rank++)
        stuck = stuck || trace->rank_info[rank].state == RANK_BLOCKED;
    if (!different && (trace->ranks != (uint32_t)job->ranks ||
                       trace->outcome != (stuck ? OUTCOME_TIMEOUT : OUTCOME_INTERRUPTED)))
        different = "the run";
    if (different)
        tap_note("job %llu: %s", seed, different);
    trace_free(trace);
    return !different;
}

static void test_jobs(const char *folder)
{
    static struct job job;
    struct dice_seeds seeds = dice_seeds(JOBS);
    unsigned right = 0;
    for (unsigned long long i = 0; i < seeds.count; i++) {
        job_dice = seeds.first + i;
        draw_job(&job);
        bool reads = job_reads(&job, folder, seeds.first + i);
        right += reads;
        if (!reads)
            break;
        run("rm -f *", folder);
    }
    tap_is_int(right, seeds.count, "dumps of random jobs are what their ranks enqueued");
}

int main(void)
{
    char folder[] = "/tmp/simrun-flight-XXXXXX";
    test_one();
    test_messages();
    test_sizes();
    test_no_sizes();
    if (mkdtemp(folder)) {
        test_folder(folder);
        run("rm -f .hidden dump_rank_1", folder);
        test_pickles(folder);
        run("rm -f *", folder);
        test_wrapped(folder);
        run("rm -f *", folder);
        test_channels(folder);
        run("rm -f *", folder);
        test_two_wrong(folder);
        run("rm -f *", folder);
        test_ranks();
        test_jobs(folder);
        run("rm -f *", folder);
        rmdir(folder);
    }
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        sample_refused("d0", malformed[i].data, malformed[i].size, malformed[i].expected);
    test_shared();
    return tap_done();
}
