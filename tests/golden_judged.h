/* golden_judged.h: what is made of a trace written as JSON lines and of small changes of it (golden_changes.h): findings with all that
 * they name, gaps, consequences, what another run's findings add, the texts of operations, and what formats write; word for word as it
 * was when somebody looked.
 *
 *   judged_hold(&golden, "14_fsdp.jsonl", data, size, 4);   a row for the text, and 4 rows of JUDGED_VARIANTS changes each */
#ifndef TESTS_GOLDEN_JUDGED_H
#define TESTS_GOLDEN_JUDGED_H

#include "checker/check.h"
#include "tests/golden_changes.h"
#include "tests/golden_trace.h"
#include "traces/formats/format.h"
#include "verdict/allow.h"
#include "verdict/ends.h"
#include "verdict/injected.h"
#include "verdict/merge.h"

enum { JUDGED_VARIANTS = 60, JUDGED_CODES_MAX = 100 };

static char judged_changed[CHANGES_SIZE];
static struct changes_text judged_text;

struct judged_tally { /* of one row */
    unsigned read, codes[JUDGED_CODES_MAX];
    uint64_t hash;
};

static inline uint64_t judged_mix_words(uint64_t hash, const struct trace *trace,
                                        const struct findings *findings)
{
    char *line = coverage_line(trace_coverage(trace), 20), words[400] = "";
    for (size_t i = 0; i < findings->count + findings->folded; i++) {
        const struct finding *finding = &findings->items[i];
        hash = golden_mix_text(golden_mix_text(hash, finding->title), finding->detail);
        hash = golden_mix(golden_mix_text(hash, finding->repair), finding->allowed);
    }
    hash = golden_mix(golden_mix_text(hash, line),
                      golden_findings(trace, findings, words, sizeof words));
    free(line);
    return hash;
}

static inline void judged_count(struct judged_tally *tally, const struct findings *findings)
{
    for (size_t i = 0; i < findings->count + findings->folded; i++)
        for (size_t k = 0; finding_code_at(k) && k < JUDGED_CODES_MAX; k++)
            tally->codes[k] += !strcmp(finding_code_at(k)->code, findings->items[i].code);
}

static inline void judged_check(const struct trace *trace, uint64_t *state,
                                struct findings *findings)
{
    struct check_options options;
    check_options_init(&options);
    if (dice_below(state, 3) == 0)
        options.models = 1 + dice_below(state, CHECK_ALL_MODELS);
    if (dice_below(state, 4) == 0)
        options.streams = (enum device_streams)dice_below(state, 3);
    if (dice_below(state, 4) == 0)
        options.search_limit = dice_below(state, 60);
    findings_init(findings);
    check_trace(trace, &options, findings);
}

/* What the verdict makes of them, and of another run's. */
static inline uint64_t judged_verdict(uint64_t hash, struct trace *trace, struct findings *findings,
                                      uint64_t *state, const struct trace *other,
                                      const struct findings *others)
{
    static const char *const crashes[] = {"", "", "killed by signal 11"};
    static const char *const rules[] = {"D001", "R002",       "isr4.c", "M005:moe-alltoall.c:12",
                                        "L001", "D003:isr2.c"};
    static const char *const models[] = {"eager", "rendezvous", "batch"};
    verdict_end(findings, trace, trace->outcome, crashes[dice_below(state, 3)]);
    hash = judged_mix_words(hash, trace, findings);
    verdict_injected(findings, trace);
    hash = judged_mix_words(hash, trace, findings);
    allow_mark(findings, trace, &rules[dice_below(state, 6)], 1);
    hash = judged_mix_words(hash, trace, findings);
    uint32_t how = dice_below(state, 36);
    struct merge_origin origin = {.model = models[how % 3],
                                  .base = models[how / 3 % 3],
                                  .how = "where all is otherwise",
                                  .replay = how / 9 % 2 ? "simrun again" : NULL,
                                  .explored = how / 18};
    merge_findings(findings, trace, others, other, &origin);
    findings_sort(findings);
    return judged_mix_words(hash, trace, findings);
}

static inline uint64_t judged_mix_texts(uint64_t hash, const struct trace *trace)
{
    char words[300];
    for (uint32_t op = 0; op < trace->op_count; op++) {
        hash = golden_mix_text(hash, trace_op_text(trace, op, words, sizeof words));
        hash = golden_mix_text(
            hash, trace_at_text(trace, trace->ops[op].form->site, words, sizeof words));
        hash = golden_mix_text(hash, trace_op_name(&trace->ops[op]));
        hash =
            golden_mix(hash, trace_op_number(trace, op) << 32 | trace_collective_number(trace, op));
    }
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        hash = golden_mix(hash, trace_rank_hash(trace, rank));
    return golden_mix(hash, trace_hash(trace));
}

static inline uint64_t judged_mix_written(uint64_t hash, const struct trace *trace,
                                          const struct findings *findings)
{
    for (size_t i = 0; format_at(i); i++) {
        struct failure failure = {0};
        char *bytes = NULL;
        size_t size = 0;
        if (!format_at(i)->writes)
            continue;
        FILE *out = open_memstream(&bytes, &size);
        bool written = format_write(trace, findings, format_at(i)->name, out, &failure);
        fclose(out);
        hash = golden_mix_text(hash, written ? bytes : failure.text);
        free(bytes);
    }
    return hash;
}

static inline uint64_t judged_variant(const char *name, size_t size, uint64_t *state, bool write,
                                      const struct trace *base,
                                      const struct findings *base_findings,
                                      struct judged_tally *tally)
{
    struct failure failure = {0};
    struct findings findings;
    struct trace *trace = format_read_memory(name, judged_changed, size, &failure);
    if (!trace)
        return golden_mix_text(1, failure.text);
    judged_check(trace, state, &findings);
    uint64_t hash = judged_mix_words(golden_trace(trace), trace, &findings);
    hash = judged_mix_texts(hash, trace);
    if (write)
        hash = judged_mix_written(hash, trace, &findings);
    hash = judged_verdict(hash, trace, &findings, state, base, base_findings);
    judged_count(tally, &findings);
    tally->read++;
    findings_release(&findings);
    trace_free(trace);
    return hash;
}

static inline bool judged_row_is_right(struct golden *golden, const char *name, unsigned row,
                                       const struct judged_tally *tally)
{
    char key[160], words[400];
    size_t used = (size_t)snprintf(words, sizeof words, "%u read", tally->read);
    for (size_t k = 0; finding_code_at(k) && k < JUDGED_CODES_MAX && used + 20 < sizeof words; k++)
        if (tally->codes[k])
            used += (size_t)snprintf(words + used, sizeof words - used, " %s:%u",
                                     finding_code_at(k)->code, tally->codes[k]);
    snprintf(key, sizeof key, "%.120s %u", name, row);
    return golden_row(golden, key, words, tally->hash);
}

/* One row; with `show` each variant is told. */
static inline struct judged_tally judged_row(const char *name, unsigned row,
                                             const struct trace *base,
                                             const struct findings *base_findings, bool show)
{
    struct judged_tally tally = {.hash = 1};
    uint64_t state = judged_text.size * 7 + row;
    for (unsigned variant = 0; variant < JUDGED_VARIANTS; variant++) {
        size_t size = changes_make(&judged_text, &state, judged_changed);
        uint64_t hash =
            judged_variant(name, size, &state, variant % 4 == 0, base, base_findings, &tally);
        tally.hash = golden_mix(tally.hash, hash);
        if (show)
            tap_note("%s %u, variant %u: %016llx", name, row, variant, (unsigned long long)hash);
    }
    return tally;
}

static inline void judged_hold(struct golden *golden, const char *name, const char *data,
                               size_t size, unsigned rows)
{
    struct failure failure = {0};
    struct check_options options;
    struct findings findings;
    struct trace *base = format_read_memory(name, data, size, &failure);
    if (!base) {
        tap_ok(false, "%s: %s", name, failure.text);
        return;
    }
    check_options_init(&options);
    findings_init(&findings);
    check_trace(base, &options, &findings);
    changes_find(&judged_text, data, size);
    uint64_t hash = judged_mix_words(golden_trace(base), base, &findings);
    struct judged_tally whole = {.read = 1, .hash = judged_mix_written(hash, base, &findings)};
    judged_count(&whole, &findings);
    if (!judged_row_is_right(golden, name, 0, &whole) && golden->wrong < 5)
        golden_show(&findings);
    for (unsigned row = 1; row <= rows; row++) {
        struct judged_tally tally = judged_row(name, row, base, &findings, false);
        if (!judged_row_is_right(golden, name, row, &tally) && golden->wrong < 3)
            judged_row(name, row, base, &findings, true);
    }
    findings_release(&findings);
    trace_free(base);
}

#endif
