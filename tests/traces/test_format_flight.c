/* Flight Recorder dumps: entries to operations, pickles as JSON, folders, buffers that wrapped,
 * refusals. */
#include "checker/check.h"
#include "tests/traces/format_samples.h"

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

int main(void)
{
    char folder[] = "/tmp/simrun-flight-XXXXXX";
    test_one();
    test_messages();
    if (mkdtemp(folder)) {
        test_folder(folder);
        run("rm -f .hidden dump_rank_1", folder);
        test_pickles(folder);
        run("rm -f *", folder);
        test_wrapped(folder);
        run("rm -f *", folder);
        rmdir(folder);
    }
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        sample_refused("d0", malformed[i].data, malformed[i].size, malformed[i].expected);
    test_shared();
    return tap_done();
}
