/* What reader and writer of the JSONL format share: see jsonl.h. */
#include "traces/formats/jsonl.h"

#include <stddef.h>
#include <string.h>

const struct jsonl_field jsonl_fields[] = {
#define X(key, member, type, absent) {key, offsetof(struct trace_op, member), type, absent},
    JSONL_FIELDS(X)
#undef X
};
const size_t jsonl_field_count = sizeof jsonl_fields / sizeof *jsonl_fields;

enum { WORDS_MAX = 9 };

static const char *const words[][WORDS_MAX] = {
    [JSONL_STATES] = {"never", "posted", "blocked", "complete", "failed", "cancelled"},
    [JSONL_FLAGS] = {"nonblocking", "persistent", "compound", "in_place", "inactive",
                     "buffer_changed", "adjoint", "across"},
    [JSONL_RANK_STATES] = {"finished", "blocked", "aborted", "crashed", "polling", "running"},
    [JSONL_OUTCOMES] = {"finished", "deadlock", "livelock", "aborted", "crashed", "timeout",
                        "interrupted", "imported"},
    [JSONL_METHODS] = {"central", "complex", "dot", "tangent", "one-sided", "value"},
};

const char *jsonl_word(enum jsonl_words list, unsigned number)
{
    return number < WORDS_MAX && words[list][number] ? words[list][number] : "?";
}

int jsonl_number(enum jsonl_words list, const char *word)
{
    for (int i = 0; i < WORDS_MAX && words[list][i]; i++)
        if (strcmp(words[list][i], word) == 0)
            return i;
    return -1;
}
