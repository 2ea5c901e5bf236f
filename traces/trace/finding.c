/* A list of findings: see finding.h. The table of codes is finding_codes.c.
 *
 * Out of memory while a verdict is being written leaves nothing to report it with: it ends the
 * program (exit 5). */
#include "traces/trace/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *memory)
{
    if (memory)
        return memory;
    fprintf(stderr, "simrun: out of memory while collecting findings\n");
    exit(FAILURE_INTERNAL);
}

void findings_init(struct findings *findings)
{
    *findings = (struct findings){0};
}

static void finding_release(struct finding *finding)
{
    free(finding->title);
    free(finding->detail);
    free(finding->ops);
    free(finding->witness);
    free(finding->repair);
    free(finding->repair_edges);
}

void findings_remove(struct findings *findings, size_t index)
{
    finding_release(&findings->items[index]);
    size_t rest = findings->count + findings->folded - index - 1;
    memmove(&findings->items[index], &findings->items[index + 1], rest * sizeof *findings->items);
    findings->count--;
}

void findings_release(struct findings *findings)
{
    for (size_t i = 0; i < findings->count + findings->folded; i++)
        finding_release(&findings->items[i]);
    free(findings->items);
    findings_init(findings);
}

__attribute__((format(printf, 1, 0))) static char *format_text(const char *format,
                                                               va_list arguments)
{
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    return must(text);
}

struct finding *findings_add(struct findings *findings, const char *code, const char *title, ...)
{
    if (findings->count + findings->folded == findings->room) {
        findings->room = findings->room ? findings->room * 2 : 8;
        findings->items = must(realloc(findings->items, findings->room * sizeof *findings->items));
    }
    if (findings->folded) /* consequences stay behind the roots, in their order */
        memmove(&findings->items[findings->count + 1], &findings->items[findings->count],
                findings->folded * sizeof *findings->items);
    struct finding *finding = &findings->items[findings->count++];
    const struct finding_code *row = finding_code(code);
    *finding = (struct finding){.severity = row ? row->severity : SEVERITY_ERROR, .site = TRACE_NO};
    snprintf(finding->code, sizeof finding->code, "%s", code);
    va_list arguments;
    va_start(arguments, title);
    finding->title = format_text(title, arguments);
    va_end(arguments);
    finding->detail = must(strdup(""));
    return finding;
}

static void append(struct finding *finding, const char *more)
{
    size_t old = strlen(finding->detail), added = strlen(more);
    finding->detail = must(realloc(finding->detail, old + added + 1));
    memcpy(finding->detail + old, more, added + 1);
}

void finding_detail(struct finding *finding, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *more = format_text(format, arguments);
    va_end(arguments);
    append(finding, more);
    free(more);
}

void finding_sentence(struct finding *finding, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *more = format_text(format, arguments);
    va_end(arguments);
    if (!strstr(finding->detail, more))
        append(finding, more);
    free(more);
}

static const char repeated_by[] = "It is repeated by: ";

void finding_repeated_by(struct finding *finding, const char *command)
{
    finding_detail(finding, "%s%s\n", repeated_by, command);
}

char *finding_replay(const struct finding *finding, size_t number, const char *run, bool kept,
                     char *text, size_t size)
{
    const char *said = finding->witness ? NULL : strstr(finding->detail, repeated_by);
    size_t length = said ? strcspn(said + sizeof repeated_by - 1, "\n") : size;
    if (length < size)
        snprintf(text, size, "%.*s", (int)length, said + sizeof repeated_by - 1);
    else if (finding->witness && kept)
        snprintf(text, size, "%s --witness %zu", run, number);
    else
        snprintf(text, size, "%s", run);
    return text;
}

static void place_add(struct finding *finding, uint32_t op, uint32_t node, const char *role)
{
    if ((finding->op_count & (finding->op_count - 1)) == 0) { /* grows at powers of two */
        size_t room = finding->op_count ? finding->op_count * 2 : 1;
        finding->ops = must(realloc(finding->ops, room * sizeof *finding->ops));
    }
    struct finding_op *place = &finding->ops[finding->op_count++];
    *place = (struct finding_op){.op = op, .node = node};
    snprintf(place->role, sizeof place->role, "%s", role);
}

void finding_op_add(struct finding *finding, uint32_t op, const char *role)
{
    place_add(finding, op, TRACE_NO, role);
}

void finding_node_add(struct finding *finding, uint32_t node, const char *role)
{
    place_add(finding, TRACE_NO, node, role);
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return (hash ^ 0xff) * 0x100000001b3u;
}

static uint64_t site_hash(const struct trace *trace, uint32_t site)
{
    char text[TRACE_SITE_TEXT];
    const char *slash;
    trace_site_text(trace, site, text, sizeof text);
    slash = strrchr(text, '/');
    return mix_text(0xcbf29ce484222325u, slash ? slash + 1 : text);
}

static uint64_t place_hash(const struct trace *trace, const struct finding_op *place)
{
    uint64_t hash = mix_text(0xcbf29ce484222325u, place->role);
    if (place->op < trace->op_count)
        return mix_text(hash, op_kind_name(trace->ops[place->op].kind)) ^
               site_hash(trace, trace->ops[place->op].form->site);
    if (place->node < trace->node_count)
        return mix_text(hash, trace_string(trace, trace->nodes[place->node].name)) ^
               site_hash(trace, trace->nodes[place->node].site);
    return hash;
}

static int hash_order(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* The set of distinct places, whatever their order and number: the same fault on 4 and on 16 ranks
 * is one. */
void finding_seal(struct finding *finding, const struct trace *trace)
{
    size_t count = finding->op_count;
    uint64_t *places = must(malloc((count + 1) * sizeof *places));
    for (size_t i = 0; i < count; i++)
        places[i] = place_hash(trace, &finding->ops[i]);
    if (finding->site == TRACE_NO && count > 0) {
        const struct finding_op *first = &finding->ops[0];
        finding->site = first->op < trace->op_count       ? trace->ops[first->op].form->site
                        : first->node < trace->node_count ? trace->nodes[first->node].site
                                                          : TRACE_NO;
    }
    qsort(places, count, sizeof *places, hash_order);
    /* Multiplied, or the site would cancel out where the first place is there. */
    uint64_t hash =
        (mix_text(0xcbf29ce484222325u, finding->code) ^ site_hash(trace, finding->site)) *
        0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || places[i] != places[i - 1])
            hash = (hash ^ places[i]) * 0x9e3779b97f4a7c15u;
    free(places);
    snprintf(finding->fingerprint, sizeof finding->fingerprint, "%016llx",
             (unsigned long long)hash);
}

void findings_fold(struct findings *findings, size_t index, const struct finding *root)
{
    struct finding folded = findings->items[index];
    snprintf(folded.because, sizeof folded.because, "%s", root->code);
    snprintf(folded.root, sizeof folded.root, "%s", root->fingerprint);
    /* What was folded under it goes with it. */
    for (size_t i = findings->count; i < findings->count + findings->folded; i++)
        if (!strcmp(findings->items[i].root, folded.fingerprint)) {
            snprintf(findings->items[i].because, sizeof folded.because, "%s", folded.because);
            snprintf(findings->items[i].root, sizeof folded.root, "%s", folded.root);
        }
    memmove(&findings->items[index], &findings->items[index + 1],
            (findings->count + findings->folded - index - 1) * sizeof folded);
    findings->count--;
    findings->items[findings->count + findings->folded++] = folded;
}

void findings_unfold(struct findings *findings, const char *fingerprint)
{
    for (size_t i = findings->count; i < findings->count + findings->folded; i++) {
        struct finding freed = findings->items[i];
        if (strcmp(freed.root, fingerprint) != 0)
            continue;
        freed.root[0] = 0;
        memmove(&findings->items[findings->count + 1], &findings->items[findings->count],
                (i - findings->count) * sizeof freed);
        findings->items[findings->count++] = freed;
        findings->folded--;
    }
}

size_t findings_consequences(const struct findings *findings, size_t root)
{
    size_t count = 0;
    for (size_t i = findings->count; i < findings->count + findings->folded; i++)
        count += strcmp(findings->items[i].root, findings->items[root].fingerprint) == 0;
    return count;
}

static int finding_order(const void *left, const void *right)
{
    const struct finding *a = left, *b = right;
    if (a->severity != b->severity)
        return a->severity > b->severity ? -1 : 1;
    if (a->has_consequences != b->has_consequences)
        return a->has_consequences ? -1 : 1;
    int order = strcmp(a->because, b->because);
    if (order == 0)
        order = strcmp(a->root, b->root);
    if (order == 0)
        order = strcmp(a->code, b->code);
    if (order == 0)
        order = strcmp(a->fingerprint, b->fingerprint);
    if (order == 0)
        order = strcmp(a->title, b->title);
    return order ? order : strcmp(a->detail, b->detail);
}

static bool same_fault(const struct finding *a, const struct finding *b)
{
    return a->fingerprint[0] && strcmp(a->code, b->code) == 0 &&
           strcmp(a->fingerprint, b->fingerprint) == 0;
}

static void say_repeated(struct finding *finding, size_t repeated)
{
    if (repeated > 0)
        finding_detail(finding, "%sThe same was found %zu more %s at these places.",
                       finding->detail[0] ? "\n" : "", repeated, repeated == 1 ? "time" : "times");
}

/* Sorts `count` rows and merges what is the same; how many are left. */
static size_t sort_rows(struct finding *items, size_t count)
{
    if (count == 0)
        return 0;
    qsort(items, count, sizeof *items, finding_order);
    size_t kept = 0, repeated = 0;
    for (size_t i = 1; i < count; i++) {
        if (same_fault(&items[kept], &items[i])) {
            finding_release(&items[i]);
            repeated++;
            continue;
        }
        say_repeated(&items[kept], repeated);
        repeated = 0;
        items[++kept] = items[i];
    }
    say_repeated(&items[kept], repeated);
    return kept + 1;
}

void findings_sort(struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        findings->items[i].has_consequences = findings_consequences(findings, i) > 0;
    size_t all = findings->count, kept = sort_rows(findings->items, all);
    if (findings->folded && kept < all)
        memmove(&findings->items[kept], &findings->items[all],
                findings->folded * sizeof *findings->items);
    findings->count = kept;
    findings->folded = sort_rows(findings->items + kept, findings->folded);
}
