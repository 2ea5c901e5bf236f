/* Choices as text: see schedule.h. */
#include "cli/options/schedule.h"

#include "sim/worlds/choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHOICE_TEXT = 80 };

static const struct {
    char letter;
    uint32_t kind;
} kinds[] = {{'r', SIM_TAKER_RECEIVE}, {'p', SIM_TAKER_PROBE}, {'w', SIM_TAKER_WAITANY},
             {'n', SIM_TAKER_NAMED},   {'k', SIM_TAKER_LOCK},  {'l', EXPLORE_LOCAL}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static char letter_of(uint32_t kind)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].kind == kind)
            return kinds[i].letter;
    return '?';
}

char *schedule_text(const struct explore_choice *choices, size_t count)
{
    char *text = calloc(count + 1, CHOICE_TEXT), *end = text;
    if (!text)
        abort();
    for (size_t i = 0; i < count; i++) {
        const struct explore_choice *choice = &choices[i];
        end += sprintf(end, "%s%c%u.%u=", i ? "," : "", letter_of(choice->kind), choice->rank,
                       choice->object);
        if (choice->source == SIM_NOTHING || choice->source == SIM_NOBODY)
            end += sprintf(end, "%s", choice->source == SIM_NOTHING ? "none" : "first");
        else
            end += sprintf(end, "%u", choice->source);
        if (choice->number || choice->box)
            end += sprintf(end, ".%u", choice->number);
        if (choice->box)
            end += sprintf(end, ".%u", choice->box);
    }
    return text;
}

/* The number at *text, which moves behind it. */
static bool take_number(const char **text, uint32_t *number)
{
    uint64_t value = 0;
    const char *at = *text;
    for (; *at >= '0' && *at <= '9' && value <= UINT32_MAX; at++)
        value = value * 10 + (uint64_t)(*at - '0');
    if (at == *text || value > UINT32_MAX)
        return false;
    *number = (uint32_t)value;
    *text = at;
    return true;
}

static bool take_sign(const char **text, char sign)
{
    if (**text != sign)
        return false;
    ++*text;
    return true;
}

static bool take_source(const char **text, uint32_t *source)
{
    static const struct {
        const char *word;
        uint32_t source;
    } words[] = {{"none", SIM_NOTHING}, {"first", SIM_NOBODY}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(*text, words[i].word, strlen(words[i].word)) == 0) {
            *source = words[i].source;
            *text += strlen(words[i].word);
            return true;
        }
    return take_number(text, source);
}

static bool take_choice(const char **text, struct explore_choice *choice)
{
    size_t kind = 0;
    while (kind < KINDS && kinds[kind].letter != **text)
        kind++;
    if (kind == KINDS)
        return false;
    *choice = (struct explore_choice){.kind = kinds[kind].kind};
    ++*text;
    return take_number(text, &choice->rank) && take_sign(text, '.') &&
           take_number(text, &choice->object) && take_sign(text, '=') &&
           take_source(text, &choice->source) &&
           (!take_sign(text, '.') || take_number(text, &choice->number)) &&
           (!take_sign(text, '.') || take_number(text, &choice->box));
}

struct explore_choice *schedule_parse(const char *text, size_t *count, size_t *at)
{
    const char *rest = text;
    size_t room = 1;
    for (const char *comma = text; (comma = strchr(comma, ',')); comma++)
        room++;
    struct explore_choice *choices = calloc(room, sizeof *choices);
    bool good = choices != NULL;
    *count = 0;
    while (good && *rest) {
        good = take_choice(&rest, &choices[*count]);
        *count += good;
        if (good && *rest)
            good = take_sign(&rest, ',') && *rest;
    }
    *at = (size_t)(rest - text);
    if (good)
        return choices;
    free(choices);
    return NULL;
}
