/* written_records.h: records that a test writes by hand, as ranks would, and the trace that is loaded of them.
 *
 *   begin(2);
 *   put(0, RECORD_OP, OP_BARRIER, plain());
 *   if (load()) ...
 *   end();
 */
#ifndef TESTS_LOADING_WRITTEN_RECORDS_H
#define TESTS_LOADING_WRITTEN_RECORDS_H

#include "tests/tap.h"

#include "recorder/recording_internal.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 256 };

static struct recording *recording;
static struct buffers_writer writers[MOST_RANKS];
static struct recording_result result;
static struct trace *trace;

static inline void begin(uint32_t ranks)
{
    struct failure failure = {0};
    recording = recording_new(ranks, RECORD_LEVEL_OPS, &failure);
    if (!recording)
        abort();
    result = (struct recording_result){.outcome = OUTCOME_FINISHED};
    for (uint32_t i = 0; i < ranks; i++)
        writers[i] = (struct buffers_writer){.rank = i};
}

static inline void end(void)
{
    trace_free(trace);
    trace = NULL;
    recording_free(recording);
}

static inline bool load(void)
{
    struct failure failure = {0};
    trace_free(trace);
    trace = recording_load(recording, &result, &failure);
    if (!trace)
        tap_note("%s", failure.text);
    return trace;
}

/* A record of `fixed` bytes and what stands behind it. */
static inline void put_more(uint32_t rank, int type, int small, const void *record, size_t fixed,
                            const void *behind, size_t more)
{
    size_t size = (fixed + more + 7) / 8 * 8;
    struct buffers_writer *writer = &writers[rank];
    if ((size_t)(writer->end - writer->next) < size &&
        !buffers_more(&recording->buffers, writer, size))
        abort();
    char *to = writer->next;
    memcpy(to, record, fixed);
    if (more)
        memcpy(to + fixed, behind, more);
    struct record_head head = {(uint16_t)size, (uint8_t)type, (uint8_t)small};
    memcpy(to, &head, sizeof head);
    writer->next += size;
}

#define put(rank, type, small, ...)                                                                \
    do {                                                                                           \
        const __typeof__(__VA_ARGS__) record_ = __VA_ARGS__;                                       \
        put_more(rank, type, small, &record_, sizeof record_, "", 0);                              \
    } while (0)

static inline void put_text(uint32_t rank, int type, const void *record, size_t fixed,
                            const char *text)
{
    put_more(rank, type, 0, record, fixed, text, strlen(text) + 1);
}

static inline void string(uint32_t rank, uint32_t number, const char *text)
{
    struct record_string record = {.number = number};
    put_text(rank, RECORD_STRING, &record, sizeof record, text);
}

static inline struct record_op plain(void)
{
    return (struct record_op){.state = STATE_COMPLETE,
                              .peer = TRACE_NONE,
                              .tag = TRACE_NONE,
                              .peer_matched = TRACE_NONE,
                              .tag_matched = TRACE_NONE,
                              .count_matched = -1,
                              .request = UINT32_MAX,
                              .begin = 1,
                              .end = 2};
}

static inline void comm(uint32_t rank, int small, struct record_comm record, const char *name)
{
    put_more(rank, RECORD_COMM, small, &record, sizeof record, name, strlen(name) + 1);
}

static inline const char *text_of(uint32_t string)
{
    return string == TRACE_NO ? "none" : trace->strings[string];
}

static inline void note(uint32_t rank, const char *code, uint32_t op, uint64_t site,
                        const char *text)
{
    struct record_note record = {.op = op, .node = 0, .site = site};
    memcpy(record.code, code, strnlen(code, 8));
    put_text(rank, RECORD_NOTE, &record, sizeof record, text);
}

#endif
