/* What the checks did not look at: see coverage.h. */
#include "traces/trace/coverage.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *word;
    enum coverage_demand demand;
} demands[] = {{"complete", COVERAGE_COMPLETE},
               {"gradients", COVERAGE_GRADIENTS},
               {"decided", COVERAGE_DECIDED}};
enum { DEMAND_COUNT = sizeof demands / sizeof *demands };

void coverage_init(struct coverage *coverage)
{
    *coverage = (struct coverage){0};
}

void coverage_release(struct coverage *coverage)
{
    for (size_t i = 0; i < coverage->count; i++)
        free(coverage->gaps[i].text);
    free(coverage->gaps);
    coverage_init(coverage);
}

static struct coverage_gap *gap_of(struct coverage *coverage, const char *check, const char *text)
{
    for (size_t i = 0; i < coverage->count; i++)
        if (!strcmp(coverage->gaps[i].check, check) && !strcmp(coverage->gaps[i].text, text))
            return &coverage->gaps[i];
    return NULL;
}

static bool make_room(struct coverage *coverage)
{
    if (coverage->count < coverage->room)
        return true;
    size_t room = coverage->room ? coverage->room * 2 : 8;
    struct coverage_gap *gaps = realloc(coverage->gaps, room * sizeof *gaps);
    if (!gaps)
        return false;
    coverage->gaps = gaps;
    coverage->room = room;
    return true;
}

bool coverage_add(struct coverage *coverage, const char *check, uint64_t count, const char *text)
{
    if (!count)
        return true;
    struct coverage_gap *known = gap_of(coverage, check, text);
    if (known) {
        known->count = known->count > UINT64_MAX - count ? UINT64_MAX : known->count + count;
        return true;
    }
    char *copy = make_room(coverage) ? strdup(text) : NULL;
    if (!copy) {
        coverage->failed = true;
        return false;
    }
    struct coverage_gap *gap = &coverage->gaps[coverage->count++];
    *gap = (struct coverage_gap){.count = count, .text = copy};
    snprintf(gap->check, sizeof gap->check, "%s", check);
    return true;
}

bool coverage_merge(struct coverage *coverage, const struct coverage *other)
{
    bool good = true;
    for (size_t i = 0; i < other->count; i++)
        good &=
            coverage_add(coverage, other->gaps[i].check, other->gaps[i].count, other->gaps[i].text);
    coverage->failed |= other->failed;
    return good;
}

void coverage_close(struct coverage *coverage, const char *check, const char *beginning)
{
    size_t kept = 0;
    for (size_t i = 0; i < coverage->count; i++) {
        struct coverage_gap *gap = &coverage->gaps[i];
        if ((!check || !strcmp(gap->check, check)) &&
            !strncmp(gap->text, beginning, strlen(beginning)))
            free(gap->text);
        else
            coverage->gaps[kept++] = *gap;
    }
    coverage->count = kept;
}

unsigned coverage_demands(const char *list)
{
    unsigned mask = 0;
    for (const char *word = list; *word; word += *word == ',') {
        size_t length = strcspn(word, ","), i = 0;
        while (i < DEMAND_COUNT &&
               (strlen(demands[i].word) != length || strncmp(demands[i].word, word, length) != 0))
            i++;
        if (i == DEMAND_COUNT)
            return 0;
        mask |= demands[i].demand;
        word += length;
    }
    return mask;
}

unsigned coverage_missed(const struct coverage *coverage, unsigned mask)
{
    unsigned missed = coverage->count || coverage->failed ? COVERAGE_COMPLETE : 0;
    for (size_t i = 0; i < coverage->count; i++) {
        const struct coverage_gap *gap = &coverage->gaps[i];
        if (strcmp(gap->check, "gradients") != 0)
            continue;
        missed |= strstr(gap->text, "undecided") ? COVERAGE_DECIDED : COVERAGE_GRADIENTS;
    }
    return missed & mask;
}

char *coverage_demands_text(unsigned mask, char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (size_t i = 0; i < DEMAND_COUNT; i++)
        if (mask & demands[i].demand && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "",
                                     demands[i].word);
    return text;
}

char *coverage_line(const struct coverage *coverage, size_t limit)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (size_t i = 0; i < coverage->count && i < limit; i++) {
        fprintf(out, "%s%s", i ? "; " : "not covered: ", coverage->gaps[i].text);
        if (coverage->gaps[i].count > 1)
            fprintf(out, " (%llu times)", (unsigned long long)coverage->gaps[i].count);
    }
    if (coverage->count > limit)
        fprintf(out, "; and %zu more", coverage->count - limit);
    if (coverage->failed)
        fprintf(out, "%swhat memory did not suffice to list",
                coverage->count ? "; " : "not covered: ");
    fclose(out);
    return text;
}
