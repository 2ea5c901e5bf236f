/* Notes of a run become findings (checker/properties/notes.c), of random notes on random operations: one for all of a code, a place and a kind of
 * call, which tells each rank's words and names its operations; none where the trace shows it, or another note says more. The list is made
 * here by the sentences, one note after the other. */
#include "checker/properties.h"
#include "tests/checker/check_program.h"
#include "tests/dice.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS = 3, NOTES = 26, SITES = 3, TRACES = 500, LISTED = 12, WORDS = 4000 };

static uint64_t dice;

static uint32_t below(uint32_t n)
{
    return dice_below(&dice, n);
}

/* ---- what is noted ---- */

static uint32_t add_op(struct program *p, uint32_t rank, enum op_kind kind, unsigned flags)
{
    static const uint32_t types[] = {PROGRAM_DOUBLE, 0x210}; /* of 8 bytes, of 4 */
    struct trace_plain_op op = program_op(p, rank, kind, 1 + (int)below(SITES));
    op.flags = (uint16_t)flags;
    op.type = types[below(2)];
    op.count = 1 + below(4);
    op.peer = (int32_t)below(RANKS);
    op.tag = 1;
    return trace_add_op(p->trace, &op);
}

static void add_call(struct program *p, uint32_t rank)
{
    uint32_t first, second, wait;
    switch (below(6)) {
    case 0:
        add_op(p, rank, below(2) ? OP_SEND : OP_RECV, 0);
        return;
    case 1:
        add_op(p, rank, OP_BARRIER, 0);
        return;
    case 2:
        first = add_op(p, rank, OP_ISEND, OP_COMPOUND);
        second = add_op(p, rank, OP_IRECV, OP_COMPOUND);
        wait = add_op(p, rank, OP_WAITALL, OP_COMPOUND);
        break;
    case 3:
        first = add_op(p, rank, OP_IRECV, 0);
        second = add_op(p, rank, below(2) ? OP_IRECV : OP_ISEND, 0);
        wait = add_op(p, rank, OP_WAITALL, 0);
        break;
    default:
        first = add_op(p, rank, below(3) ? OP_IRECV : OP_ISEND, 0);
        wait = add_op(p, rank, OP_WAIT, 0);
        trace_add_wait(p->trace, wait, first, true);
        return;
    }
    trace_add_wait(p->trace, wait, first, true);
    trace_add_wait(p->trace, wait, second, true);
}

static void add_notes(struct program *p)
{
    static const char *const codes[] = {"B001", "B002", "B006", "G005", "L010", "M004",
                                        "M005", "M007", "M007", "M008", "M009", "M009",
                                        "X005", "X010", "U001", "B001"};
    struct trace *trace = p->trace;
    bool few = below(2), alike = below(4) == 0; /* alike: more than are listed */
    for (uint32_t i = below(NOTES); i-- > 0;) {
        char text[40];
        struct trace_note note = {.rank = below(RANKS),
                                  .op = below(6) ? below((uint32_t)trace->op_count) : TRACE_NO,
                                  .node = below(4) ? TRACE_NO : below((uint32_t)trace->node_count),
                                  .site = below(4) ? below(SITES) : TRACE_NO,
                                  .text = text};
        snprintf(note.code, sizeof note.code, "%s", codes[few ? 6 + below(6) : below(16)]);
        snprintf(text, sizeof text, "words %u; advice", below(30));
        if (alike && below(8)) {
            note.site = 0;
            note.op = TRACE_NO;
            snprintf(note.code, sizeof note.code, "U001");
        }
        trace_add_note(trace, &note);
    }
}

static struct program build(unsigned long long seed)
{
    dice = seed * 1001;
    struct program p = program_new(RANKS);
    for (int line = 1; line <= SITES; line++)
        trace_add_site(p.trace, "p.c", line, "main");
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        struct trace_node node = {.rank = rank,
                                  .id = 1,
                                  .forward = TRACE_NO,
                                  .site = below(SITES),
                                  .name = trace_add_string(p.trace, "x")};
        trace_add_node(p.trace, &node);
        for (uint32_t i = 1 + below(5); i-- > 0;)
            add_call(&p, rank);
    }
    return p;
}

/* ---- what is to be found ---- */

static bool is_code(const struct trace_note *note, const char *code)
{
    return strcmp(note->code, code) == 0;
}

static size_t bytes_of(const struct trace_op *op)
{
    return (size_t)op->count * (op->form->type == PROGRAM_DOUBLE ? 8 : 4);
}

static bool is_truncated(const struct trace *trace, uint32_t op)
{
    const struct trace_op *receive = &trace->ops[op];
    return op_kind_class(receive->kind) == CLASS_RECEIVE && receive->match != TRACE_NO &&
           bytes_of(&trace->ops[receive->match]) > bytes_of(receive);
}

static bool starts(const struct trace *trace, uint32_t wait, uint32_t op)
{
    for (size_t i = 0; i < trace->wait_count; i++)
        if (trace->waits[i].wait == wait && trace->waits[i].start == op)
            return true;
    return false;
}

/* A truncation that the operation, what it waits for, or of no operation the rank shows; a refused call that leaked. */
static bool is_told_elsewhere(const struct trace *trace, const struct trace_note *note)
{
    for (uint32_t op = 0; is_code(note, "M007") && op < trace->op_count; op++) {
        bool its = note->op == TRACE_NO ? trace->ops[op].rank == note->rank
                                        : op == note->op || starts(trace, note->op, op);
        if (its && is_truncated(trace, op))
            return true;
    }
    for (size_t i = 0; is_code(note, "M009") && i < trace->note_count; i++)
        if (is_code(&trace->notes[i], "L010") && trace->notes[i].rank == note->rank &&
            trace->notes[i].site == note->site)
            return true;
    return is_code(note, "M004") || is_code(note, "M005");
}

/* A Sendrecv is one call, whichever of its parts; of two accesses the other one may be any. */
static void key_of(const struct trace *trace, const struct trace_note *note, char key[60])
{
    const struct trace_op *op = note->op == TRACE_NO ? NULL : &trace->ops[note->op];
    int kind = !op ? -1 : op->flags & OP_COMPOUND ? OP_WAITALL : (int)op->kind;
    if (is_code(note, "B002"))
        kind = -2;
    snprintf(key, 60, "%s %u %d", note->code, note->site, kind);
}

struct expected {
    uint32_t site;
    char key[60], code[8], title[120], lines[WORDS], places[WORDS];
    unsigned listed;
};

static void add_place(struct expected *row, const char *what, uint32_t index)
{
    size_t used = strlen(row->places);
    snprintf(row->places + used, WORDS - used, "%s %u, ", what, index);
}

static void title_of(const struct trace *trace, const struct trace_note *note, char title[120])
{
    bool elsewhere = note->op == TRACE_NO || trace->ops[note->op].form->site != note->site;
    bool ended = note->code[0] == 'X',
         owned = strchr("LUB", note->code[0]) || is_code(note, "M009");
    bool nothing = note->op == TRACE_NO && note->node == TRACE_NO;
    if (note->site != TRACE_NO && (ended || nothing || (owned && elsewhere)))
        snprintf(title, 120, "%.*s at p.c:%u", (int)strcspn(note->text, ";"), note->text,
                 note->site + 1);
    else
        snprintf(title, 120, "%s", note->text);
}

static void tell(struct expected *row, const struct trace *trace, const struct trace_note *note)
{
    char line[120];
    snprintf(line, sizeof line, "Rank %u: %s\n", note->rank, note->text);
    if (row->listed++ < LISTED && !strstr(row->lines, line))
        snprintf(row->lines + strlen(row->lines), WORDS - strlen(row->lines), "%s", line);
    bool before = is_code(note, "X005") && note->op != TRACE_NO &&
                  trace->ops[note->op].form->site != note->site;
    bool by_node =
        note->node != TRACE_NO && (note->code[0] == 'G' || note->op == TRACE_NO || before);
    if (by_node)
        add_place(row, "node", note->node);
    else if (note->op != TRACE_NO && !before)
        add_place(row, "culprit", note->op);
    uint32_t count = 0, start = TRACE_NO;
    for (uint32_t op = 0; note->op != TRACE_NO && op < trace->op_count; op++)
        if (starts(trace, note->op, op)) {
            start = op;
            count++;
        }
    if (is_code(note, "B001") && count == 1)
        add_place(row, "partner", start);
}

static size_t expect(const struct trace *trace, struct expected *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < trace->note_count; i++) {
        const struct trace_note *note = &trace->notes[i];
        char key[60];
        size_t at = 0;
        key_of(trace, note, key);
        while (at < count && strcmp(rows[at].key, key) != 0)
            at++;
        if (at == count && is_told_elsewhere(trace, note))
            continue;
        if (at == count) {
            memset(&rows[count], 0, sizeof *rows);
            snprintf(rows[at].key, sizeof key, "%s", key);
            snprintf(rows[at].code, sizeof rows[at].code, "%s", note->code);
            rows[at].site = note->site;
            title_of(trace, note, rows[at].title);
            count++;
        }
        tell(&rows[at], trace, note);
    }
    return count;
}

/* ---- what is found ---- */

/* Without the lines that are not of a rank's words. */
static void words_of(const struct finding *finding, char lines[WORDS])
{
    size_t used = 0;
    lines[0] = 0;
    for (const char *at = finding->detail, *end; *at; at = end) {
        end = strchr(at, '\n') ? strchr(at, '\n') + 1 : at + strlen(at);
        if (strncmp(at, "Rank ", 5) == 0)
            used += (size_t)snprintf(lines + used, WORDS - used, "%.*s", (int)(end - at), at);
    }
}

/* Of notes without a place it is where their first operation stands. */
static uint32_t site_of(const struct trace *trace, const struct finding *finding, uint32_t noted)
{
    const struct finding_op *first = finding->op_count ? &finding->ops[0] : NULL;
    return noted != TRACE_NO || !first ? noted
           : first->op != TRACE_NO     ? trace->ops[first->op].form->site
                                       : trace->nodes[first->node].site;
}

static const char *differs(const struct trace *trace, const struct finding *finding,
                           const struct expected *row)
{
    static char lines[WORDS];
    static struct expected found;
    words_of(finding, lines);
    found.places[0] = 0;
    for (size_t i = 0; i < finding->op_count; i++) {
        const struct finding_op *place = &finding->ops[i];
        if (place->op != TRACE_NO)
            add_place(&found, place->role, place->op);
        else
            add_place(&found, "node", place->node);
    }
    bool partners = strstr(row->places, "partner");
    return strcmp(finding->code, row->code) != 0                            ? "code"
           : strcmp(finding->title, row->title) != 0                        ? "title"
           : strcmp(lines, row->lines) != 0                                 ? "words"
           : strcmp(found.places, row->places) != 0                         ? "places"
           : !strstr(finding->detail, "It was started by rank") == partners ? "who started it"
           : finding->site != site_of(trace, finding, row->site)            ? "site"
           : !finding->fingerprint[0]                                       ? "fingerprint"
           : finding->confirmation != CONFIRM_HAPPENED                      ? "that it happened"
                                                                            : NULL;
}

int main(void)
{
    static struct expected rows[NOTES];
    struct dice_seeds seeds = dice_seeds(TRACES);
    unsigned long long wrong = 0, found = 0, noted = 0;
    for (unsigned long long seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        struct program p = build(seed);
        struct failure failure = {0};
        struct check_options options;
        struct check_context context;
        struct findings findings;
        if (!trace_finish(p.trace, &failure)) {
            tap_ok(false, "seed %llu: %s", seed, failure.text);
            trace_free(p.trace);
            continue;
        }
        add_notes(&p);
        findings_init(&findings);
        check_options_init(&options);
        check_context_init(&context, p.trace, &options);
        check_notes(&context, &findings);
        size_t count = expect(p.trace, rows);
        const char *what = count == findings.count ? NULL : "how many";
        for (size_t i = 0; i < count && !what; i++)
            if ((what = differs(p.trace, &findings.items[i], &rows[i])) && !wrong)
                tap_note("%s: %s\n# %s\n# but %s: %s", rows[i].key, findings.items[i].title,
                         findings.items[i].detail, rows[i].title, rows[i].places);
        if (what && !wrong++)
            tap_note("seed %llu: %s: %zu, not %zu", seed, what, findings.count, count);
        found += findings.count;
        noted += p.trace->note_count;
        check_context_release(&context);
        findings_release(&findings);
        trace_free(p.trace);
    }
    tap_ok(found * 5 > noted && found * 5 < noted * 4, "%llu notes are %llu findings", noted,
           found);
    tap_is_int(wrong, 0, "each says what was noted, once for what is alike");
    return tap_done();
}
