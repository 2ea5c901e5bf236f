#include "checker/replay/witness.h"

#include "checker/memory.h"
#include "checker/places.h"
#include "checker/replay/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

/* seqs of one rank as ranges: "0-17 20 19 21-30". */
static void write_rank(FILE *out, const struct trace *trace, uint32_t rank, const uint32_t *order)
{
    size_t begin = trace->rank_begin[rank], end = trace->rank_begin[rank + 1], same = begin;
    while (same < end && order[same] == same)
        same++;
    if (same == end)
        return;
    fprintf(out, "rank %u:", rank);
    for (size_t i = begin; i < end;) {
        size_t last = i;
        while (last + 1 < end && order[last + 1] == order[last] + 1)
            last++;
        uint32_t from = trace_op_seq(trace, &trace->ops[order[i]]);
        if (last == i)
            fprintf(out, " %u", from);
        else
            fprintf(out, " %u-%u", from, trace_op_seq(trace, &trace->ops[order[last]]));
        i = last + 1;
    }
    fputc('\n', out);
}

/* For a run again: in which order the rank's ready queue must hand out the nodes of a backward
 * pass. */
static void write_nodes(FILE *out, const struct trace *trace, const struct trace_pass *pass,
                        const uint32_t *order)
{
    bool changed = false;
    for (uint32_t i = pass->first_op; i < pass->op_end && !changed; i++)
        changed = order[i] != i;
    if (!changed)
        return;
    fprintf(out, "nodes %u pass %u:", pass->rank, pass->pass);
    uint32_t last = TRACE_NO;
    for (uint32_t i = pass->first_op; i < pass->op_end; i++) {
        uint32_t node = trace->ops[order[i]].node;
        if (node != TRACE_NO && node != last)
            fprintf(out, " %u", trace->nodes[node].id);
        last = node;
    }
    fputc('\n', out);
}

char *check_witness_text(const struct trace *trace, const char *code, enum check_model model,
                         const uint32_t *order, const struct plan_choice *choices,
                         size_t choice_count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return check_text("simrun-witness 1\n");
    fprintf(out, "simrun-witness 1\ncode %s\nmodel %s\nranks %u\n", code, check_model_name(model),
            trace->ranks);
    for (uint32_t rank = 0; rank < trace->ranks && order; rank++)
        write_rank(out, trace, rank, order);
    for (size_t i = 0; i < trace->pass_count && order; i++)
        if (trace->passes[i].mode == PASS_DATA)
            write_nodes(out, trace, &trace->passes[i], order);
    for (size_t i = 0; i < choice_count; i++) {
        const struct trace_op *receive = &trace->ops[choices[i].receive];
        fprintf(out, "choice %u %u from %u\n", receive->rank, trace_op_seq(trace, receive),
                choices[i].source);
    }
    fputs("end\n", out);
    fclose(out);
    return text;
}

/* ---- reading ---- */

struct reader {
    const char *at;
    unsigned line;
    const struct trace *trace;
    struct check_witness *witness;
    struct failure *failure;
};

static int refuse(struct reader *reader, const char *what)
{
    return failure_set(reader->failure, FAILURE_INPUT, "witness, line %u: %s", reader->line, what);
}

static bool read_number(struct reader *reader, uint32_t *number)
{
    while (*reader->at == ' ')
        reader->at++;
    if (*reader->at < '0' || *reader->at > '9')
        return false;
    uint64_t value = 0;
    for (; *reader->at >= '0' && *reader->at <= '9'; reader->at++) {
        value = value * 10 + (uint64_t)(*reader->at - '0');
        if (value >= TRACE_NO)
            return false;
    }
    *number = (uint32_t)value;
    return true;
}

static bool read_word(struct reader *reader, const char *word)
{
    while (*reader->at == ' ')
        reader->at++;
    size_t length = strlen(word);
    if (strncmp(reader->at, word, length) != 0)
        return false;
    reader->at += length;
    return true;
}

static void own_order(struct reader *reader)
{
    if (reader->witness->order)
        return;
    reader->witness->order = check_new(reader->trace->op_count, sizeof *reader->witness->order);
    for (uint32_t i = 0; i < reader->trace->op_count; i++)
        reader->witness->order[i] = i;
}

static int read_rank(struct reader *reader)
{
    uint32_t rank, from, to;
    if (!read_number(reader, &rank) || rank >= reader->trace->ranks || !read_word(reader, ":"))
        return refuse(reader, "expected 'rank R:' with a rank of this trace");
    size_t begin = reader->trace->rank_begin[rank],
           count = reader->trace->rank_begin[rank + 1] - begin, filled = 0;
    bool *seen = check_new(count, sizeof *seen);
    int code = FAILURE_NONE;
    own_order(reader);
    while (code == FAILURE_NONE && read_number(reader, &from)) {
        to = from;
        if (*reader->at == '-') {
            reader->at++;
            if (!read_number(reader, &to))
                to = 0;
        }
        if (to < from || to >= count) {
            code = refuse(reader, "a range that this rank does not have");
            break;
        }
        for (uint32_t seq = from; seq <= to && code == FAILURE_NONE; seq++) {
            if (seen[seq])
                code = refuse(reader, "an operation stands twice");
            seen[seq] = true;
            if (code == FAILURE_NONE)
                reader->witness->order[begin + filled++] = (uint32_t)(begin + seq);
        }
    }
    free(seen);
    if (code == FAILURE_NONE && filled != count)
        code = refuse(reader, "not every operation of the rank is there");
    return code;
}

static int read_choice(struct reader *reader)
{
    uint32_t rank, seq, source;
    if (!read_number(reader, &rank) || !read_number(reader, &seq) || !read_word(reader, "from") ||
        !read_number(reader, &source) || rank >= reader->trace->ranks ||
        source >= reader->trace->ranks ||
        seq >= reader->trace->rank_begin[rank + 1] - reader->trace->rank_begin[rank])
        return refuse(reader, "expected 'choice RANK SEQ from RANK'");
    struct check_witness *witness = reader->witness;
    size_t room = witness->choice_count;
    witness->choices =
        check_grow(witness->choices, &room, witness->choice_count + 1, sizeof *witness->choices);
    witness->choices[witness->choice_count++] = (struct plan_choice){
        .receive = (uint32_t)(reader->trace->rank_begin[rank] + seq), .source = source};
    return FAILURE_NONE;
}

static int read_model(struct reader *reader)
{
    for (unsigned model = CHECK_EAGER; model <= CHECK_BATCH; model <<= 1)
        if (read_word(reader, check_model_name((enum check_model)model))) {
            reader->witness->model = (enum check_model)model;
            return FAILURE_NONE;
        }
    return refuse(reader, "the model is eager, rendezvous or batch");
}

static int read_line(struct reader *reader, bool *ended)
{
    if (read_word(reader, "code ")) {
        size_t length = strcspn(reader->at, "\n");
        if (length == 0 || length >= sizeof reader->witness->code)
            return refuse(reader, "a code has one letter and three digits");
        memcpy(reader->witness->code, reader->at, length);
        reader->at += length;
        return FAILURE_NONE;
    }
    if (read_word(reader, "model "))
        return read_model(reader);
    if (read_word(reader, "ranks ")) {
        if (!read_number(reader, &reader->witness->ranks) ||
            reader->witness->ranks != reader->trace->ranks)
            return refuse(reader, "the number of ranks is not that of the trace");
        return FAILURE_NONE;
    }
    if (read_word(reader, "rank "))
        return read_rank(reader);
    if (read_word(reader, "choice "))
        return read_choice(reader);
    if (read_word(reader, "nodes ") || read_word(reader, "#")) {
        reader->at += strcspn(reader->at, "\n");
        return FAILURE_NONE;
    }
    *ended = read_word(reader, "end");
    return *ended ? FAILURE_NONE : refuse(reader, "unknown word");
}

int check_witness_parse(const char *text, const struct trace *trace, struct check_witness *witness,
                        struct failure *failure)
{
    *witness = (struct check_witness){.model = CHECK_EAGER};
    struct reader reader = {
        .at = text, .line = 1, .trace = trace, .witness = witness, .failure = failure};
    bool ended = false;
    int code = read_word(&reader, "simrun-witness 1")
                   ? FAILURE_NONE
                   : refuse(&reader, "not a witness of version 1");
    while (code == FAILURE_NONE && !ended) {
        while (*reader.at == ' ' || *reader.at == '\r')
            reader.at++;
        if (*reader.at == '\0')
            code = refuse(&reader, "cut off before 'end'");
        else if (*reader.at != '\n' && *reader.at != '\0')
            code = refuse(&reader, "unexpected text at the end of the line");
        if (code != FAILURE_NONE)
            break;
        reader.at++;
        reader.line++;
        if (*reader.at != '\n' && *reader.at != '\0')
            code = read_line(&reader, &ended);
    }
    if (code == FAILURE_NONE && witness->ranks == 0)
        code = refuse(&reader, "the number of ranks is missing");
    if (code != FAILURE_NONE)
        check_witness_release(witness);
    return code;
}

void check_witness_release(struct check_witness *witness)
{
    free(witness->order);
    free(witness->choices);
    *witness = (struct check_witness){0};
}

/* ---- replaying ---- */

static char *report_stuck(const struct trace *trace, const struct check_replay *replay)
{
    char *text = check_text("stands still under this schedule:\n"), place[PLACE_TEXT],
         lacked[PLACE_TEXT];
    for (size_t i = 0; i < replay->cycle_count; i++) {
        char *more = check_text("%s  %s waits for %s\n", text,
                                check_place(trace, replay->cycle[i], place, sizeof place),
                                replay->lacks[i] == TRACE_NO
                                    ? "nobody"
                                    : check_place(trace, replay->lacks[i], lacked, sizeof lacked));
        free(text);
        text = more;
    }
    return text;
}

static char *report_that_they_cross(const struct trace *trace, const struct check_replay *replay)
{
    char one[PLACE_TEXT], other[PLACE_TEXT];
    return check_text("under this schedule %s meets %s\n",
                      check_place(trace, replay->crossing, one, sizeof one),
                      check_place(trace, replay->met, other, sizeof other));
}

/* What crosses may also hang afterwards: the crossing came first. */
enum witness_outcome check_witness_replay(const struct trace *trace,
                                          const struct check_witness *witness, char **text)
{
    struct check_options options;
    struct check_context context;
    struct check_plan plan;
    struct check_replay replay;
    check_options_init(&options);
    check_context_init(&context, trace, &options);
    check_plan_init(&plan, &context,
                    &(struct plan_options){.order = witness->order,
                                           .choices = witness->choices,
                                           .choice_count = witness->choice_count});
    check_replay_run(&plan, witness->model, &replay);
    enum witness_outcome outcome = replay.crossed ? WITNESS_CROSSES
                                   : replay.stuck ? WITNESS_STUCK
                                                  : WITNESS_COMPLETES;
    if (text)
        *text = outcome == WITNESS_STUCK     ? report_stuck(trace, &replay)
                : outcome == WITNESS_CROSSES ? report_that_they_cross(trace, &replay)
                                             : check_text("completes under this schedule\n");
    check_replay_release(&replay);
    check_plan_release(&plan);
    check_context_release(&context);
    return outcome;
}
