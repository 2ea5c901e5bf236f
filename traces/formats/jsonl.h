/* What reader and writer of the JSONL format share: the fields of an operation line and the names
 * of states. Private to traces/format_jsonl*.c; the format is described in docs/formats.md. */
#ifndef TRACES_FORMATS_JSONL_H
#define TRACES_FORMATS_JSONL_H

#include "traces/trace/trace.h"

enum { JSONL_VERSION = 1 };

enum jsonl_type { JSONL_U32, JSONL_I32, JSONL_U64, JSONL_I64, JSONL_WHO };

/* A field of struct trace_whole_op that is a number; JSONL_WHO is one of TRACE_ANY ("any"), TRACE_NONE
 * (null) or a number. */
struct jsonl_field {
    const char *key;
    size_t offset;
    enum jsonl_type type;
    int64_t absent; /* the value a missing key stands for */
};

#define JSONL_FIELDS(X)                                                                            \
    X("peer", op.peer, JSONL_WHO, TRACE_NONE)                                                      \
    X("tag", op.tag, JSONL_WHO, TRACE_NONE)                                                        \
    X("count", op.count, JSONL_I64, 0)                                                             \
    X("pass", op.pass, JSONL_U32, 0)                                                               \
    X("peer_matched", op.peer_matched, JSONL_WHO, TRACE_NONE)                                      \
    X("tag_matched", op.tag_matched, JSONL_WHO, TRACE_NONE)                                        \
    X("count_matched", op.count_matched, JSONL_I64, -1)                                            \
    X("batch", op.batch, JSONL_U32, 0)                                                             \
    X("thread", op.thread, JSONL_U32, 0)                                                           \
    X("error", op.error, JSONL_I32, 0)                                                             \
    X("begin", op.begin, JSONL_U64, 0)                                                             \
    X("end", op.end, JSONL_U64, 0)                                                                 \
    X("begin_ns", times.begin_ns, JSONL_U64, 0)                                                    \
    X("end_ns", times.end_ns, JSONL_U64, 0)                                                        \
    X("buffer", at.buffer, JSONL_U64, 0)                                                           \
    X("extent", at.extent, JSONL_U64, 0)

extern const struct jsonl_field jsonl_fields[];
extern const size_t jsonl_field_count;

/* Names by number, "?" past the end; numbers by name, -1 for none. */
enum jsonl_words { JSONL_STATES, JSONL_FLAGS, JSONL_RANK_STATES, JSONL_OUTCOMES, JSONL_METHODS };
const char *jsonl_word(enum jsonl_words list, unsigned number);
int jsonl_number(enum jsonl_words list, const char *word);

#endif
