/* What reader and writer of the JSONL format share: see jsonl.h. */
#include "traces/formats/jsonl.h"
#include "traces/trace/names.h"

#include <stddef.h>

const struct jsonl_field jsonl_fields[] = {
#define X(key, member, type, absent) {key, offsetof(struct trace_whole_op, member), type, absent},
    JSONL_FIELDS(X)
#undef X
};
const size_t jsonl_field_count = sizeof jsonl_fields / sizeof *jsonl_fields;

static const char *const states[] = {"never",  "posted",    "blocked", "complete",
                                     "failed", "cancelled", NULL};
static const char *const flags[] = {
    "nonblocking",    "persistent", "compound", "in_place", "inactive",
    "buffer_changed", "adjoint",    "across",   "cut",      NULL};

static const char *const *const words[] = {[JSONL_STATES] = states,
                                           [JSONL_FLAGS] = flags,
                                           [JSONL_RANK_STATES] = trace_rank_state_names,
                                           [JSONL_OUTCOMES] = trace_outcome_names,
                                           [JSONL_METHODS] = trace_method_names};

const char *jsonl_word(enum jsonl_words list, unsigned number)
{
    return trace_name(words[list], number);
}

int jsonl_number(enum jsonl_words list, const char *word)
{
    return trace_name_number(words[list], word);
}
