/* Time-independent traces: actions to operations, waits to requests, back again, refusals. */
#include "traces/formats/ti.h"

#include "tests/formats/format_samples.h"

#include <mpi.h>
#include <unistd.h>

static const char ring[] = "0 init\n"
                           "0 location ring.c 12\n"
                           "0 isend 1 7 1e3 0\n"
                           "0 irecv 1 7 1000 0\n"
                           "0 compute 1e9\n"
                           "0 waitall 2\n"
                           "1 init\n"
                           "1 isend 0 7 1000 0\n"
                           "1 isend 0 7 1000 0\n"
                           "1 recv 0 7 -1 0\n"
                           "1 wait 1 0 7\n"
                           "0 recv 1 7 1000 0\n"
                           "1 test 1 0 7\n"
                           "0 allReduce 4 100 1\n"
                           "1 allreduce 4 100 1\n"
                           "0 gatherv 3 3 5 1 5 5\n"
                           "1 gatherv 5 3 5 1 5 5\n"
                           "0 finalize\n"
                           "1 finalize\n";

/* As SMPI numbers them (smpi_datatype.cpp). */
static void test_types(void)
{
    const MPI_Datatype types[] = {MPI_DOUBLE,         MPI_INT,
                                  MPI_CHAR,           MPI_SHORT,
                                  MPI_LONG,           MPI_FLOAT,
                                  MPI_BYTE,           MPI_LONG_LONG,
                                  MPI_SIGNED_CHAR,    MPI_UNSIGNED_CHAR,
                                  MPI_UNSIGNED_SHORT, MPI_UNSIGNED,
                                  MPI_UNSIGNED_LONG,  MPI_UNSIGNED_LONG_LONG,
                                  MPI_LONG_DOUBLE,    MPI_WCHAR};
    int right = 0;
    for (int i = 0; i < 16; i++)
        right += ti_type_of_number(i) == (uint32_t)(uintptr_t)types[i] &&
                 ti_number_of_type((uint32_t)(uintptr_t)types[i]) == i;
    tap_is_int(right, 16, "types have SMPI's numbers");
    tap_ok(!ti_type_of_number(-1) && !ti_type_of_number(16) && ti_number_of_type(1) == -1,
           "and no others have one");
}

static void test_actions(void)
{
    struct failure failure;
    struct trace *trace = sample_read("r.txt", ring, &failure);
    if (!tap_ok(trace, "a trace is read: %s", failure.text))
        return;
    const struct trace_op *ops = trace->ops, *other = ops + trace->rank_begin[1];
    tap_is_int(trace->ranks, 2, "ranks are counted");
    tap_is_int(ops[1].count, 1000, "a size may be written as a double");
    tap_is_int(ops[1].form->type, 0x214, "type 0 is double");
    tap_is_int(trace->sites[ops[1].form->site].line, 12, "a location is the site of what follows");
    tap_is_int(ops[1].request, 4, "a waitall takes what is pending");
    tap_is_int(ops[2].request, 4, "all of it");
    tap_is_int(other[1].request, trace->rank_begin[1] + 4,
               "a wait takes the oldest request like it");
    tap_is_int(other[2].request, trace->rank_begin[1] + 5,
               "a test that nobody follows up completed its request");
    tap_is_int(other[3].match, 1, "messages are matched");
    tap_is_int(ops[6].kind, OP_ALLREDUCE, "actions are known in older spelling");
    tap_is_int(ops[7].count, 8, "lists are summed");
    tap_is_int(ops[7].peer, 1, "the root stands behind them");
    tap_is_int(trace_op_counts(trace, 7)->receive[1], 5, "and kept");
    trace_free(trace);
}

static void test_written(void)
{
    struct failure failure;
    size_t size;
    struct trace *trace = sample_read("r.txt", ring, &failure);
    char *text = trace ? sample_write(trace, "ti", &size) : NULL;
    struct trace *again = text ? sample_read("again.txt", text, &failure) : NULL;
    size_t same = 0;
    if (tap_ok(again, "what is written is read: %s", failure.text))
        for (uint32_t i = 0, k = 0; i < again->op_count && k < trace->op_count; i++, k++) {
            k += trace->ops[k].kind == OP_WAITALL; /* written as a wait for each */
            const struct trace_op *a = &trace->ops[k], *b = &again->ops[i];
            if (b->kind == OP_WAIT && a->kind != OP_WAIT && a->kind != OP_TEST) {
                k--;
                continue;
            }
            same += a->kind == b->kind && a->peer == b->peer && a->tag == b->tag &&
                    a->count == b->count && a->form->type == b->form->type;
        }
    tap_is_int(same, trace ? trace->op_count - 1 : 0, "with the same operations");
    free(text);
    trace_free(trace);
    trace_free(again);
    trace =
        sample_read("t",
                    "{\"simrun\":1,\"ranks\":2,\"program\":\"p\"}\n{\"comm\":2,\"members\":[0,1]}\n"
                    "{\"op\":\"Barrier\",\"rank\":0,\"comm\":2}\n",
                    &failure);
    FILE *out = fopen("/dev/null", "w");
    tap_ok(trace && out && !format_write(trace, NULL, "ti", out, &failure),
           "what cannot be said is not written");
    tap_is_str(
        failure.text,
        "p: operation 0 of rank 0: time-independent traces know no communicator but the world",
        "with the reason");
    fclose(out);
    trace_free(trace);
}

static const struct {
    const char *text, *expected;
} malformed[] = {
    {"0 init\n0 sned 1 0 1", "t:2:3: unknown action \"sned\""},
    {"0 init\n5 init\n0 send 6 0 1", "t:3:8: a rank of the trace from -1000 to 5 expected"},
    {"0 send 0 0", "t:1:11: a size expected"},
    {"0 send 0 0 0000000000000000000000000000000000000000000000000000000000000012x",
     "t:1:12: a size of at most 63 characters expected"},
    {"0 send 0 0 000000000000000000000000000000000000000000000000000000000000000x",
     "t:1:12: a size of at most 63 characters expected"},
    {"0 send 0 0 00000000000000000000000000000000000000000000000000000000000000x",
     "t:1:12: a size expected, not "
     "\"00000000000000000000000000000000000000000000000000000000000000x\""},
    {"0 send 0 0 12x", "t:1:12: a size expected, not \"12x\""},
    {"0 send 0 0 nan", "t:1:12: a size expected, not \"nan\""},
    {"0 send 0 0 1e99", "t:1:12: a size from -1 to 9.00719925474099e+15 expected"},
    {"0 send 0 0.5 1", "t:1:10: a tag expected, not a fraction"},
    {"0 send 0 0 1 77", "t:1:14: the number of a type from 0 to 15 expected"},
    {"0 send -1 0 1", "t:1:1: a send to any rank or with any tag"},
    {"1048576 init", "t:1:1: a rank from 0 to 1048575 expected"},
    {"0 init\nx init", "t:2:1: a rank expected, not \"x\""},
    {"0 alltoallv 1 1 1", "t:1:18: a size expected"},
    {"1 init\n0 reducescatter 1 -1 0", "t:2:21: 2 sizes from 0 to 2^36 expected"},
    {"0 bcast 1 4", "t:1:11: a rank of the trace from 0 to 0 expected"},
    {"0 location a.c", "t:1:15: a line number expected"},
};

static void test_refusals(void)
{
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        sample_refused("t", malformed[i].text, strlen(malformed[i].text), malformed[i].expected);
}

/* Many requests of one name and as many waits: linear, or this would not end. */
static void test_large(void)
{
    enum { REQUESTS = 30000 };
    struct failure failure = {0};
    char *text = malloc((size_t)REQUESTS * 32 + 64);
    size_t used = 0;
    for (int i = 0; i < REQUESTS; i++)
        used += (size_t)sprintf(text + used, "0 irecv 0 1 8\n");
    for (int i = 0; i < REQUESTS; i++)
        used += (size_t)sprintf(text + used, "0 wait 0 0 1\n");
    struct trace *trace = format_read_memory("large", text, used, &failure);
    tap_is_int(trace ? trace->wait_count : 0, REQUESTS,
               "many alike requests are waited for in order");
    tap_ok(trace && trace->ops[REQUESTS - 1].request == 2 * REQUESTS - 1, "the last by the last");
    trace_free(trace);
    free(text);
}

/* ---- each action ---- */

enum { BYTES = -1, MOST = 9 };

/* Of three ranks, by rank 1: a line, so many of whose words (behind the action) there must be. */
static const struct action_row {
    const char *line;
    enum op_kind kind;
    size_t needs;
    int32_t peer, tag;
    int64_t count;
    int type;                   /* SMPI's number */
    const char *send, *receive; /* lists of three */
} action_rows[] = {
    {"send 2 7 100 1", OP_SEND, 3, 2, 7, 100, 1, NULL, NULL},
    {"isend 0 2147483647 0 0", OP_ISEND, 3, 0, INT32_MAX, 0, 0, NULL, NULL},
    {"send 2 7 -1 1", OP_SEND, 3, 2, 7, 0, 1, NULL, NULL},
    {"recv 2 7 1e2 5", OP_RECV, 3, 2, 7, 100, 5, NULL, NULL},
    {"irecv -1 -2 9007199254740992 15", OP_IRECV, 3, TRACE_ANY, TRACE_ANY, 9007199254740992, 15,
     NULL, NULL},
    {"recv 0 0 -1 1", OP_RECV, 3, 0, 0, 9007199254740992, 1, NULL, NULL},
    {"barrier", OP_BARRIER, 0, TRACE_NONE, TRACE_NONE, 0, BYTES, NULL, NULL},
    {"finalize", OP_FINALIZE, 0, TRACE_NONE, TRACE_NONE, 0, BYTES, NULL, NULL},
    {"bcast 5 2 1", OP_BCAST, 1, 2, TRACE_NONE, 5, 1, NULL, NULL},
    {"bcast -1 0 1", OP_BCAST, 1, 0, TRACE_NONE, 0, 1, NULL, NULL},
    {"reduce 5 1e300 2 1", OP_REDUCE, 2, 2, TRACE_NONE, 5, 1, NULL, NULL},
    {"allreduce 5 -1 1", OP_ALLREDUCE, 2, TRACE_NONE, TRACE_NONE, 5, 1, NULL, NULL},
    {"alltoall 4 6 1", OP_ALLTOALL, 2, TRACE_NONE, TRACE_NONE, 4, 1, NULL, NULL},
    {"alltoallv 9 1 2 4 8 16 32 68719476736 1", OP_ALLTOALLV, 8, TRACE_NONE, TRACE_NONE, 7, 1,
     "1 2 4", "16 32 68719476736"},
    {"gather 4 6 2 1", OP_GATHER, 2, 2, TRACE_NONE, 4, 1, NULL, NULL},
    {"gatherv 4 1 2 4 2 1", OP_GATHERV, 4, 2, TRACE_NONE, 7, 1, NULL, "1 2 4"},
    {"scatter 4 6 2 1", OP_SCATTER, 2, 2, TRACE_NONE, 4, 1, NULL, NULL},
    {"scatterv 1 0 4 6 2 1", OP_SCATTERV, 4, 2, TRACE_NONE, 5, 1, "1 0 4", NULL},
    {"allgather 4 6 1", OP_ALLGATHER, 2, TRACE_NONE, TRACE_NONE, 4, 1, NULL, NULL},
    {"allgatherv 4 1 2 4 1", OP_ALLGATHERV, 4, TRACE_NONE, TRACE_NONE, 7, 1, NULL, "1 2 4"},
    {"reducescatter 1 2 4 1e6 1", OP_REDUCE_SCATTER, 4, TRACE_NONE, TRACE_NONE, 7, 1, NULL,
     "1 2 4"},
    {"scan 5 0.5 1", OP_SCAN, 2, TRACE_NONE, TRACE_NONE, 5, 1, NULL, NULL},
    {"exscan 5 0.5 1", OP_EXSCAN, 2, TRACE_NONE, TRACE_NONE, 5, 1, NULL, NULL},
    {"compute 1e9", OP_COMPUTE, 1, TRACE_NONE, TRACE_NONE, 0, BYTES, NULL, NULL},
    {"sleep 0", OP_COMPUTE, 1, TRACE_NONE, TRACE_NONE, 0, BYTES, NULL, NULL},
    {"comm_size 3", OP_NONE, 0, 0, 0, 0, 0, NULL, NULL},
    {"comm_dup", OP_NONE, 0, 0, 0, 0, 0, NULL, NULL},
    {"comm_split", OP_NONE, 0, 0, 0, 0, 0, NULL, NULL},
};

static struct trace *after_init(const char *init, const char *line, struct failure *failure)
{
    char text[300];
    snprintf(text, sizeof text, "0 init\n2 init\n1 init%s\n# 1 barrier\n\n \t1   %s \n", init,
             line);
    return sample_read("t", text, failure);
}

static bool same_list(const int64_t *numbers, const char *list)
{
    long long a, b, c;
    if (!list || !numbers)
        return !list && !numbers;
    return sscanf(list, "%lld %lld %lld", &a, &b, &c) == 3 && numbers[0] == a && numbers[1] == b &&
           numbers[2] == c;
}

static bool is_read_as(const struct action_row *row, const char *line, bool typed, const char *init,
                       uint32_t standard)
{
    struct failure failure;
    struct trace *trace = after_init(init, line, &failure);
    size_t first = trace ? trace->rank_begin[1] + 1 : 0,
           count = trace ? trace->rank_begin[2] - first : 0;
    const struct trace_op *op = trace ? &trace->ops[first] : NULL;
    bool right = trace && trace->ranks == 3 && count == (row->kind != OP_NONE);
    if (right && count) {
        uint32_t type = row->type == BYTES ? 0 : typed ? ti_type_of_number(row->type) : standard;
        const struct trace_counts *counts = trace_op_counts(trace, (uint32_t)first);
        bool world = row->kind != OP_COMPUTE;
        bool reduces = row->kind == OP_REDUCE || row->kind == OP_ALLREDUCE ||
                       row->kind == OP_SCAN || row->kind == OP_EXSCAN;
        right = op->kind == row->kind && op->peer == row->peer && op->tag == row->tag &&
                op->count == row->count && op->form->type == type &&
                op->form->signature == (type ? type : op->form->signature) &&
                (op->form->reduce_op == 1) == reduces && (op->form->comm == 0) == world &&
                same_list(counts ? counts->send : NULL, row->send) &&
                same_list(counts ? counts->receive : NULL, row->receive);
    }
    if (!right)
        tap_note("%s: %s", line, trace ? "another operation" : failure.text);
    trace_free(trace);
    return right;
}

static void test_each_action(void)
{
    unsigned right = 0, tried = 0;
    for (size_t i = 0; i < sizeof action_rows / sizeof *action_rows; i++) {
        const struct action_row *row = &action_rows[i];
        char line[120], expected[80];
        size_t ends[MOST + 2], words = 0;
        for (const char *c = row->line; *c; c++)
            if (c[1] == ' ' || !c[1])
                ends[words++] = (size_t)(c + 1 - row->line);
        bool has_type = row->type != BYTES && row->kind != OP_NONE;
        right += is_read_as(row, row->line, true, "", 0);
        for (char *to = strcpy(line, row->line); *to && *to != ' '; to++)
            *to = *to >= 'a' && *to <= 'z' && (to - line) % 2 ? (char)(*to - 'a' + 'A') : *to;
        right += is_read_as(row, line, true, "", 0);
        tried += 2;
        if (has_type) {
            snprintf(line, sizeof line, "%.*s", (int)ends[words - 2], row->line);
            right += is_read_as(row, line, false, "", ti_type_of_number(6));
            right += is_read_as(row, line, false, " 1", ti_type_of_number(0));
            tried += 2;
        }
        for (size_t k = 1; k <= row->needs;
             k++, tried++) { /* one word less than there must be, or many */
            struct failure failure;
            snprintf(line, sizeof line, "%.*s", (int)ends[k - 1], row->line);
            struct trace *trace = after_init("", line, &failure);
            snprintf(expected, sizeof expected, "t:6:%zu: ", 6 + strlen(line) + 2);
            bool refused = !trace && !strncmp(failure.text, expected, strlen(expected)) &&
                           strstr(failure.text, " expected");
            right += refused;
            if (!refused)
                tap_note("%s: %s", line, trace ? "read" : failure.text);
            trace_free(trace);
        }
    }
    tap_is_int(right, tried,
               "each action is read as what it says, and missed where it says too little");
}

/* No word of any action may be one of these: what no number is, and what is beyond every range. */
static void test_each_word(void)
{
    static const char *const bad[] = {"x", "1x", "nan", "2e300", "-1001"};
    unsigned refused = 0, tried = 0;
    for (size_t i = 0; i < sizeof action_rows / sizeof *action_rows; i++) {
        const char *line = action_rows[i].line;
        for (const char *at = strchr(line, ' '); at && action_rows[i].needs;
             at = strchr(at + 1, ' '))
            for (size_t k = 0; k < sizeof bad / sizeof *bad; k++, tried++) {
                char changed[140];
                struct failure failure;
                const char *behind = at + 1 + strcspn(at + 1, " ");
                snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at + 1 - line), line, bad[k],
                         behind);
                struct trace *trace = after_init("", changed, &failure);
                refused += !trace && !strncmp(failure.text, "t:6:", 4) &&
                           strstr(failure.text, " expected");
                if (trace)
                    tap_note("%s: read", changed);
                trace_free(trace);
            }
    }
    tap_is_int(refused, tried, "each word of each action is refused where it is no such number");
}

/* Random requests of a rank, some from anybody or with any tag, and waits: each gets the oldest that is named as the wait names it, else the
 * oldest that leaves open what others of the trace leave open. */
static void test_waits(void)
{
    enum { LINES = 24, TRACES = 200 };
    int wrong = 0, waited = 0;
    for (uint64_t seed = 1; seed <= TRACES; seed++) {
        char text[2000];
        int source[LINES], target[LINES], tag[LINES], got[LINES];
        bool waits[LINES], done[LINES] = {false}, any_source = seed % 2;
        uint64_t dice = seed;
        struct failure failure;
        size_t used = (size_t)snprintf(text, sizeof text, "1 init\n2 init\n");
        for (int i = 0; i < LINES; i++) {
            bool receives = sample_below(&dice, 2), open = sample_below(&dice, 3) == 0;
            int peer = 1 + (int)sample_below(&dice, 2);
            waits[i] = sample_below(&dice, 2);
            source[i] = receives ? peer : 0;
            target[i] = receives ? 0 : peer;
            tag[i] = (int)sample_below(&dice, 2);
            got[i] = -1;
            if (!waits[i] && receives && open)
                *(any_source ? &source[i] : &tag[i]) = -1;
            if (waits[i])
                used += (size_t)snprintf(text + used, sizeof text - used, "0 wait %d %d %d\n",
                                         source[i], target[i], tag[i]);
            else
                used += (size_t)snprintf(text + used, sizeof text - used, "0 %s %d %d 8 0\n",
                                         receives ? "irecv" : "isend",
                                         receives ? source[i] : target[i], tag[i]);
            for (int round = 0; round < 2 && waits[i] && got[i] < 0; round++)
                for (int k = 0; k < i && got[i] < 0; k++) {
                    bool same = source[k] == source[i] && tag[k] == tag[i];
                    bool fits = (source[k] == source[i] || source[k] < 0) &&
                                (tag[k] == tag[i] || tag[k] < 0);
                    if (!waits[k] && !done[k] && target[k] == target[i] && (round ? fits : same))
                        got[i] = k;
                }
            if (got[i] >= 0)
                done[got[i]] = true;
        }
        struct trace *trace = sample_read("t", text, &failure);
        uint32_t op_of[LINES], line = 0;
        for (size_t i = trace ? trace->rank_begin[0] : 0;
             trace && i < trace->rank_begin[1] && line < LINES; i++)
            if (trace->ops[i].kind != OP_INIT && trace->ops[i].kind != OP_FINALIZE)
                op_of[line++] = (uint32_t)i;
        wrong += line != LINES;
        size_t row = 0;
        for (int i = 0; i < LINES && line == LINES; i++) {
            if (got[i] < 0)
                continue;
            waited++;
            wrong += row >= trace->wait_count || trace->waits[row].wait != op_of[i] ||
                     trace->waits[row].start != op_of[got[i]];
            row++;
        }
        wrong += trace && row != trace->wait_count;
        trace_free(trace);
    }
    tap_ok(wrong == 0 && waited > 500, "waits get the oldest request (%d of %d wrong)", wrong,
           waited);
}

/* Each rank's file tells its own part. */
static void test_folder(void)
{
    char folder[] = "/tmp/simrun-ti-XXXXXX", path[100];
    static const char *const texts[] = {"0 init\n0 send 1 3 5 0\n0 compute 1\n",
                                        "1 init\n1 recv 0 3 5 0\n"};
    struct failure failure = {0};
    bool made = mkdtemp(folder) != NULL;
    for (int i = 0; i < 2 && made; i++) {
        snprintf(path, sizeof path, "%s/rank%d.txt", folder, i);
        FILE *out = fopen(path, "w");
        made = out && fputs(texts[i], out) >= 0 && fclose(out) == 0;
    }
    struct trace *trace = made ? format_read(folder, &failure) : NULL;
    tap_ok(trace && trace->ranks == 2 && trace->rank_begin[1] == 3 && trace->op_count == 5 &&
               trace->ops[1].kind == OP_SEND && trace->ops[4].kind == OP_RECV,
           "a folder of files is one trace: %s", failure.text);
    trace_free(trace);
    /* Of two that are wrong the first is told. */
    for (int i = 0; i < 2 && made; i++) {
        snprintf(path, sizeof path, "%s/rank%d.txt", folder, i);
        FILE *out = fopen(path, "w");
        made = out && fprintf(out, "%d init\n%d wrong\n", i, i) > 0 && fclose(out) == 0;
    }
    failure = (struct failure){0};
    trace = made ? format_read(folder, &failure) : NULL;
    tap_ok(!trace && strstr(failure.text, "rank0.txt:2:"),
           "of two that are wrong the first is told: %s", failure.text);
    trace_free(trace);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/rank%d.txt", folder, i);
        unlink(path);
    }
    rmdir(folder);
}

/* What each kind is written as; NULL: refused; "": left out, as it moves nothing. */
static void test_kinds(void)
{
    static const struct {
        const char *op, *line;
    } rows[] = {{"\"Send\",\"peer\":1,\"tag\":2", "0 send 1 2 "},
                {"\"Ssend\",\"peer\":1,\"tag\":2", "0 send 1 2 "},
                {"\"Isend\",\"peer\":1,\"tag\":2", "0 isend 1 2 "},
                {"\"Recv\",\"peer\":1,\"tag\":2", "0 recv 1 2 "},
                {"\"Mrecv\",\"peer\":1,\"tag\":2", "0 recv 1 2 "},
                {"\"Irecv\",\"peer\":1,\"tag\":2", "0 irecv 1 2 "},
                {"\"Imrecv\",\"peer\":1,\"tag\":2", "0 irecv 1 2 "},
                {"\"Barrier\"", "0 barrier"},
                {"\"compute\"", "0 compute 0"},
                {"\"Request_free\"", ""},
                {"\"Iprobe\",\"peer\":1", ""},
                {"\"Put\",\"peer\":1", NULL},
                {"\"Get\",\"peer\":1", NULL},
                {"\"Win_lock\",\"peer\":1", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char source[300], expected[100], *text = NULL;
        size_t size;
        struct failure failure;
        snprintf(source, sizeof source,
                 "{\"simrun\":1,\"ranks\":2,\"program\":\"p\"}\n{\"op\":%s,\"rank\":0}\n",
                 rows[i].op);
        struct trace *trace = sample_read("t", source, &failure);
        FILE *out = open_memstream(&text, &size);
        bool done = trace && format_write(trace, NULL, "ti", out, &failure);
        fclose(out);
        snprintf(expected, sizeof expected, "0 init\n%s", rows[i].line ? rows[i].line : "");
        bool right =
            rows[i].line
                ? done && !strncmp(text, expected, strlen(expected)) &&
                      (rows[i].line[0] || !strncmp(text, "0 init\n0 finalize", 17))
                : !done && strstr(failure.text, "time-independent traces have nothing like it");
        tap_ok(right, "%s: %.60s %s", rows[i].op, text, failure.text);
        free(text);
        trace_free(trace);
    }
}

/* A type has at most one number, and a number at most one type. */
static void test_numbers(void)
{
    int numbered = 0, wrong = 0;
    for (uint32_t type = 0; type < 1024; type++) {
        int number = ti_number_of_type(type);
        wrong += number >= 0 && ti_type_of_number(number) != type;
        numbered += number >= 0;
    }
    for (long number = -3; number < 20; number++)
        wrong += number < 0 || number > 15
                     ? ti_type_of_number(number) != 0
                     : ti_number_of_type(ti_type_of_number(number)) != (int)number;
    tap_is_int(wrong, 0, "types and their numbers belong together");
    tap_is_int(numbered, 16, "and there are as many");
    tap_ok(ti_number_of_type(0) < 0 && ti_type_of_number(0) == (uint32_t)(uintptr_t)MPI_DOUBLE,
           "no type has none, and double is the first");
}

int main(void)
{
    test_numbers();
    test_waits();
    test_folder();
    test_kinds();
    test_each_action();
    test_each_word();
    test_types();
    test_actions();
    test_written();
    test_refusals();
    test_large();
    return tap_done();
}
