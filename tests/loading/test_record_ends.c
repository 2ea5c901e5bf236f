/* How ranks ended, by records written by hand: as they say themselves, or by the last thing that they left; and what is kept of records that
 * are more than is wanted, or come when time is over. */
#include "tests/loading/written_records.h"

static void rank_told(uint32_t rank, struct record_rank record)
{
    put(rank, RECORD_RANK, 0, record);
}

/* A process that ended with a code of failure within a call: a real MPI ended it for that. */
static void ends(void)
{
    enum { STATES = 6, LAST = 4, CASES = STATES * LAST * 4 };
    static const int last[LAST] = {-1, STATE_COMPLETE, STATE_BLOCKED, STATE_FAILED};
    int wrong = 0;
    begin(CASES);
    for (uint32_t i = 0; i < CASES; i++) {
        struct record_op op = plain();
        uint32_t state = i % STATES, rest = i / STATES;
        if (last[rest % LAST] >= 0) {
            op.state = (uint8_t)last[rest % LAST];
            put(i, RECORD_OP, OP_BARRIER, op);
        }
        rest /= LAST;
        rank_told(i, (struct record_rank){.ended = (uint8_t)(1 + state),
                                          .finalized = rest % 2,
                                          .exit_code = rest / 2 ? -3 : 0,
                                          .bytes_sent = 1000 + i,
                                          .messages_sent = 2000 + i});
    }
    load();
    for (uint32_t i = 0; trace && i < CASES; i++) {
        const struct trace_rank *rank = &trace->rank_info[i];
        uint32_t state = i % STATES, rest = i / STATES;
        int stood = last[rest % LAST];
        bool finalized = rest / LAST % 2, failed = rest / LAST / 2;
        bool for_it = (state == RANK_FINISHED || state == RANK_ABORTED) && !finalized && failed &&
                      (stood == STATE_BLOCKED || stood == STATE_FAILED);
        int due = for_it ? STATE_FAILED : stood;
        size_t at = trace->rank_begin[i];
        wrong += rank->state != (for_it ? RANK_ABORTED : (enum rank_state)state) ||
                 rank->finalized != finalized || rank->exit_code != (failed ? -3 : 0) ||
                 rank->bytes_sent != 1000 + i || rank->messages_sent != 2000 + i ||
                 (stood >= 0 && trace->ops[at].state != due) || rank->site != TRACE_NO;
    }
    tap_ok(trace && !wrong, "a rank that ended itself within a call was ended for that call");
    end();
}

/* A rank that never said how it ended: in threads and states of its operations, and whether it stands. */
static void silent_ends(void)
{
    static const struct {
        const char *ops; /* per operation: a thread, and b for blocked or c for complete */
        uint8_t ended;   /* 0: nothing told; more than there are: damaged */
        bool stands;
    } cases[] = {
        {"", 0, false},        {"0b", 0, true},   {"0c", 0, false},   {"0b0c", 0, false},
        {"0b1c", 0, true},     {"1b0c", 0, true}, {"0c1c", 0, false}, {"1c0b", 0, true},
        {"0b0c0c1c", 0, true}, {"0b", 7, true},   {"0c", 7, false},   {"0c0c0b", 255, true},
        {"1c", 0, false},      {"0c", 0, false},  {"0b0c", 0, false},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    int wrong = 0;
    begin(CASES);
    for (uint32_t i = 0; i < CASES; i++) {
        for (const char *at = cases[i].ops; *at; at += 2) {
            struct record_op op = plain();
            op.thread = (uint8_t)(at[0] - '0');
            op.state = at[1] == 'b' ? STATE_BLOCKED : STATE_COMPLETE;
            put(i, RECORD_OP, OP_BARRIER, op);
        }
        rank_told(i, (struct record_rank){.ended = cases[i].ended});
    }
    load();
    for (uint32_t i = 0; trace && i < CASES; i++)
        wrong += trace->rank_info[i].state != (cases[i].stands ? RANK_BLOCKED : RANK_RUNNING);
    tap_ok(trace && !wrong, "a rank that did not end stands in a call, or runs");
    end();
}

static void polls(void)
{
    static const struct {
        int state;
        uint32_t kind, ops;
        bool kept;
    } cases[] = {{RANK_POLLING, OP_TEST, 2, true},   {RANK_POLLING, OP_TEST, 1, false},
                 {RANK_POLLING, OP_TEST, 3, false},  {RANK_POLLING, 0, 2, false},
                 {RANK_FINISHED, OP_TEST, 2, false}, {RANK_BLOCKED, OP_TEST, 2, false},
                 {RANK_POLLING, OP_IPROBE, 2, true}};
    enum { CASES = sizeof cases / sizeof *cases };
    int wrong = 0;
    begin(CASES);
    for (uint32_t i = 0; i < CASES; i++) {
        comm(i, RECORD_COMM_WORLD, (struct record_comm){.number = 1, .size = CASES}, "");
        put(i, RECORD_OP, OP_BARRIER, plain());
        put(i, RECORD_OP, OP_BARRIER, plain());
        rank_told(i, (struct record_rank){.ended = (uint8_t)(1 + cases[i].state),
                                          .polls = i,
                                          .poll = {.ops = cases[i].ops,
                                                   .kind = cases[i].kind,
                                                   .comm = i == 0 ? 0 : 1,
                                                   .request = i == 0 ? 1 : UINT32_MAX,
                                                   .peer = 3,
                                                   .tag = 40,
                                                   .part = 5}});
    }
    load();
    for (uint32_t i = 0; trace && i < CASES; i++) {
        size_t from = trace->rank_begin[i], n = trace->rank_begin[i + 1] - from;
        if (n != 2 + (size_t)cases[i].kept) {
            wrong++;
        } else if (cases[i].kept) {
            const struct trace_op *op = &trace->ops[from + 2];
            wrong += op->kind != cases[i].kind || op->state != STATE_BLOCKED || op->peer != 3 ||
                     op->tag != 40 || op->count != 5 || op->form->comm != (i ? 0 : TRACE_NO) ||
                     op->request != (i ? TRACE_NO : from + 1) || op->form->site != TRACE_NO;
        }
    }
    tap_ok(trace && !wrong, "a rank that ended while it polled stands in that poll");
    wrong = 0;
    for (uint32_t i = 0; trace && i + 1 < CASES; i++) {
        const struct trace_metric *row = &trace->metrics[i];
        wrong += trace->metric_count != CASES - 1 || row->rank != (int32_t)i + 1 ||
                 row->value < i + 1 || row->value > i + 1 ||
                 strcmp(text_of(row->name), "unsuccessful polls") != 0;
    }
    tap_ok(trace && !wrong, "and how often is counted");
    end();
}

/* Where a rank ended itself for a call that is no operation. */
static void refusals(void)
{
    enum { CASES = 8, HERE = 1001, THERE = 1501, NOWHERE = 0 };
    static const int due[CASES] = {HERE, HERE, 0, 0, 0, HERE, THERE, 0};
    int wrong = 0;
    begin(CASES);
    struct buffers_header *header = recording->buffers.header;
    header->image_count = 0;
    recording_image_add(recording, "/lib/here", 1000, 1400, 1);
    recording_image_add(recording, "/lib/there", 1500, 2000, 1);
    for (uint32_t i = 0; i < CASES; i++)
        put(i, RECORD_OP, OP_BARRIER, plain());
    note(0, "M009", UINT32_MAX, HERE, "");
    note(1, "B001", UINT32_MAX, HERE, "");
    note(2, "G001", UINT32_MAX, HERE, "");
    note(3, "M009", 0, HERE, "");
    note(4, "M009", UINT32_MAX, HERE, "");
    note(4, "G009", UINT32_MAX, HERE, "");
    note(5, "G009", UINT32_MAX, THERE, "");
    note(5, "M001", UINT32_MAX, HERE, "");
    note(6, "M001", UINT32_MAX, HERE, "");
    for (uint32_t i = 0; i < CASES; i++)
        rank_told(i, (struct record_rank){.ended = 1 + RANK_ABORTED,
                                          .has_crash_site = i == 6,
                                          .crash_site = i == 6 ? THERE : NOWHERE});
    load();
    for (uint32_t i = 0; trace && i < CASES; i++) {
        uint32_t site = trace->rank_info[i].site;
        const char *file = due[i] == HERE ? "/lib/here" : "/lib/there";
        wrong += due[i] ? site == TRACE_NO || strcmp(trace->sites[site].file, file) != 0
                        : site != TRACE_NO;
    }
    tap_ok(trace && !wrong, "a rank ended where its last call was refused");
    end();
}

/* ---- less than all ---- */

static bool over(void *context)
{
    uint32_t *asked = context;
    return ++*asked > 1;
}

/* Of each rank the first operations, an equal share of the most; ends, texts and notes of all. */
static void shares(void)
{
    enum { RANKS = 3, OPS = 6 };
    for (size_t most = 0; most <= 20; most++) {
        int wrong = 0;
        size_t share = most == 0 ? OPS : most / RANKS < OPS ? most / RANKS : OPS;
        begin(RANKS);
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            for (uint32_t i = 0; i < OPS; i++) {
                struct record_op op = plain();
                op.node = i == 0 ? OPS : i + 1; /* one that may be too much */
                op.request = i == 0 ? OPS - 1 : UINT32_MAX;
                put(rank, RECORD_NODE, 0, ((struct record_node){.id = i + 1}));
                put(rank, RECORD_OP, OP_BARRIER, op);
            }
            string(rank, 1, "told");
            note(rank, "G005", OPS - 1, 0, "at last");
            put(rank, RECORD_METRIC, 0, ((struct record_metric){.name = 1}));
            rank_told(rank, (struct record_rank){.ended = 1 + RANK_POLLING, .exit_code = 5});
        }
        result.ops_max = most;
        /* a share of nothing is full at once */
        bool whole = most == 0 || most / RANKS > OPS;
        if (!load())
            wrong++;
        for (uint32_t rank = 0; trace && rank < RANKS; rank++) {
            size_t from = trace->rank_begin[rank], n = trace->rank_begin[rank + 1] - from;
            wrong += n != share || trace->rank_info[rank].state != RANK_POLLING ||
                     trace->rank_info[rank].exit_code != 5;
            bool all = share == OPS;
            wrong += n && (trace->ops[from].request != (all ? from + OPS - 1 : TRACE_NO) ||
                           trace->ops[from].node !=
                               (all ? trace->node_begin[rank] + OPS - 1 : TRACE_NO));
        }
        wrong +=
            trace && (trace->note_count != RANKS || trace->metric_count != (whole ? RANKS : 0) ||
                      trace->node_count != RANKS * share);
        tap_ok(!wrong, "%zu of %d operations at most: %zu of each rank", most, RANKS * OPS, share);
        end();
    }
}

static void late(void)
{
    uint32_t asked = 0;
    begin(3);
    for (uint32_t rank = 0; rank < 3; rank++) {
        struct record_op op = plain();
        op.request = 0;
        put(rank, RECORD_OP, OP_BARRIER, op);
        note(rank, "G005", 0, 0, "of it");
        rank_told(rank, (struct record_rank){.ended = 1 + RANK_CRASHED});
    }
    result.over = over;
    result.over_context = &asked;
    tap_ok(load() && trace->op_count == 1 && trace->note_count == 3 &&
               trace->rank_info[2].state == RANK_CRASHED && trace->notes[0].op == 0 &&
               trace->notes[1].op == TRACE_NO && trace->notes[2].op == TRACE_NO,
           "where time is over ends and notes are loaded only");
    end();
}

int main(void)
{
    void (*const all[])(void) = {ends, silent_ends, polls, refusals, shares, late};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        all[i]();
    return tap_done();
}
