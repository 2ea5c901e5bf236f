/* Answers of a gradient check: right, wrong, undecided. */
#include "traces/trace/trace.h"

#include <stdio.h>
#include <string.h>

const char *trace_doubt(const char *word)
{
    static const char *const doubts[] = TRACE_DOUBTS;
    for (size_t i = 0; word && i < sizeof doubts / sizeof *doubts; i++)
        if (strcmp(word, doubts[i]) == 0)
            return doubts[i];
    return NULL;
}

void trace_answers_add(struct trace_answers *answers, const struct trace_gradient *row)
{
    size_t elements = row->elements ? row->elements : 1;
    *(row->ok          ? &answers->right
      : row->undecided ? &answers->undecided
                       : &answers->wrong) += elements;
}

void trace_answers_text(const struct trace_answers *answers, const char *noun, char *text,
                        size_t size)
{
    size_t all = answers->right + answers->wrong + answers->undecided;
    int used =
        snprintf(text, size, "%zu of %zu%s%s right", answers->right, all, *noun ? " " : "", noun);
    if ((size_t)used < size && answers->wrong && answers->undecided)
        used += snprintf(text + used, size - (size_t)used, ", %zu wrong", answers->wrong);
    if ((size_t)used < size && answers->undecided)
        snprintf(text + used, size - (size_t)used, ", %zu undecided", answers->undecided);
}
