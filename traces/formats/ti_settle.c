/* Who waits for what in a time-independent trace. A wait names sender, receiver and tag; it gets the
 * rank's oldest request with these that nobody waited for. A waitall takes all that are pending. A
 * wait that finds none waits for nothing: a test before it has completed the request. Requests are
 * sorted, so that no input makes it slow. */
#include "traces/formats/ti.h"

#include <stdlib.h>
#include <string.h>

static int request_order(const void *left, const void *right)
{
    const struct ti_request *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    if (a->destination != b->destination)
        return a->destination < b->destination ? -1 : 1;
    return (a->tag > b->tag) - (a->tag < b->tag);
}

static int request_total_order(const void *left, const void *right)
{
    const struct ti_request *a = left, *b = right;
    int order = request_order(a, b);
    return order ? order : (a->op > b->op) - (a->op < b->op);
}

struct settling {
    struct ti_reader *reader;
    struct ti_request *sorted;
    size_t count;
    size_t *cursor; /* at the first of equals: how far they are settled */
    bool *done;     /* request in order of lines */
    uint32_t *next; /* request in order of lines -> the same rank's next */
    uint32_t *head; /* rank -> its first that is pending */
    uint32_t *tail;
    uint32_t *test; /* request -> wait row of its last test */
};

static size_t line_place(const struct settling *settling, uint32_t op)
{
    size_t low = 0, high = settling->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (settling->reader->requests[middle].op < op)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The oldest request like `key` from before it that is not done; count when there is none. */
static size_t pending(struct settling *settling, const struct ti_request *key)
{
    size_t low = 0, high = settling->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (request_order(&settling->sorted[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low + (low < settling->count ? settling->cursor[low] : 0);
         i < settling->count && request_order(&settling->sorted[i], key) == 0; i++) {
        size_t place = line_place(settling, settling->sorted[i].op);
        if (settling->sorted[i].op > key->op)
            return settling->count;
        if (!settling->done[place]) {
            settling->cursor[low] = i - low;
            return place;
        }
    }
    return settling->count;
}

/* The trace may name the sender of a receive from anybody only in its wait. */
static size_t pending_like(struct settling *settling, struct ti_request key)
{
    const struct ti_request exact = key;
    for (int wild = 0; wild < 4; wild++) {
        key.source = wild & 1 ? TRACE_ANY : exact.source;
        key.tag = wild & 2 ? TRACE_ANY : exact.tag;
        size_t place = pending(settling, &key);
        if (place < settling->count)
            return place;
    }
    return settling->count;
}

static bool settle_one(struct settling *settling, const struct ti_waiting *row)
{
    struct ti_reader *reader = settling->reader;
    size_t place = pending_like(settling, row->key);
    if (place == settling->count)
        return true; /* a test completed it before */
    uint32_t start = reader->requests[place].op;
    bool waits = row->what == TI_SETTLE_WAIT;
    settling->done[place] = waits;
    if (!waits)
        settling->test[place] = (uint32_t)reader->trace->wait_count;
    return trace_add_wait(reader->trace, row->key.op, start, waits) != TRACE_NO ||
           format_no_memory(reader->input);
}

static bool settle_all(struct settling *settling, const struct ti_waiting *row)
{
    struct ti_reader *reader = settling->reader;
    uint32_t *head = &settling->head[row->key.rank];
    for (; *head != TRACE_NO && reader->requests[*head].op < row->key.op;
         *head = settling->next[*head]) {
        if (settling->done[*head])
            continue;
        settling->done[*head] = true;
        if (trace_add_wait(reader->trace, row->key.op, reader->requests[*head].op, true) ==
            TRACE_NO)
            return format_no_memory(reader->input);
    }
    return true;
}

static bool settling_init(struct settling *settling)
{
    struct ti_reader *reader = settling->reader;
    size_t count = settling->count = reader->request_count, ranks = reader->ranks;
    settling->sorted = malloc((count + 1) * sizeof *settling->sorted);
    settling->cursor = calloc(count + 1, sizeof *settling->cursor);
    settling->done = calloc(count + 1, sizeof *settling->done);
    settling->next = malloc((count + 1) * sizeof *settling->next);
    settling->test = malloc((count + 1) * sizeof *settling->test);
    settling->head = malloc(ranks * sizeof *settling->head);
    settling->tail = malloc(ranks * sizeof *settling->tail);
    if (!settling->sorted || !settling->cursor || !settling->done || !settling->next ||
        !settling->test || !settling->head || !settling->tail)
        return format_no_memory(reader->input);
    memset(settling->head, 0xff, ranks * sizeof *settling->head);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = reader->requests[i].rank;
        settling->sorted[i] = reader->requests[i];
        settling->next[i] = settling->test[i] = TRACE_NO;
        if (settling->head[rank] == TRACE_NO)
            settling->head[rank] = i;
        else
            settling->next[settling->tail[rank]] = i;
        settling->tail[rank] = i;
    }
    qsort(settling->sorted, count, sizeof *settling->sorted, request_total_order);
    return true;
}

bool ti_settle_all(struct ti_reader *reader)
{
    struct settling settling = {.reader = reader};
    bool done = settling_init(&settling);
    for (size_t i = 0; i < reader->wait_count && done; i++)
        done = reader->waits[i].what == TI_SETTLE_ALL ? settle_all(&settling, &reader->waits[i])
                                                      : settle_one(&settling, &reader->waits[i]);
    /* What was tested and never waited for was completed by its last test. */
    for (size_t i = 0; i < settling.count && done; i++)
        if (!settling.done[i] && settling.test[i] != TRACE_NO)
            reader->trace->waits[settling.test[i]].completed = true;
    free(settling.sorted);
    free(settling.cursor);
    free(settling.done);
    free(settling.next);
    free(settling.test);
    free(settling.head);
    free(settling.tail);
    return done;
}
