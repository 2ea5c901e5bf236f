/* golden_changes.h: small changes of traces written as JSON lines, so that most are still well-formed and say something else.
 * A value becomes one that stands elsewhere under the same key, a neighbouring number or another word; a line is missing, said
 * twice, or stands behind its neighbour; an operation is of another kind, or says more.
 *
 *   changes_find(&text, data, size);              once for each text
 *   size_t size = changes_make(&text, &state, out); into `out`, of CHANGES_SIZE bytes */
#ifndef TESTS_GOLDEN_CHANGES_H
#define TESTS_GOLDEN_CHANGES_H

#include "tests/dice.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    CHANGES_SIZE = 1 << 16,
    CHANGES_LINES = 1024,
    CHANGES_VALUES = 1 << 14,
    CHANGES_AT_ONCE = 3
};

struct changes_value { /* text[begin .. end), under the key that begins at `key` */
    uint32_t key, begin, end;
    bool in_list;
};

struct changes_text {
    const char *text;
    uint32_t size, line_count, value_count;
    uint32_t lines[CHANGES_LINES + 1]; /* where they begin, and the end */
    struct changes_value values[CHANGES_VALUES];
};

struct changes_edit { /* text[begin .. end) becomes this */
    uint32_t begin, end;
    char text[700];
};

/* Behind a string that begins at `at`. */
static inline uint32_t changes_string_end(const struct changes_text *text, uint32_t at)
{
    for (at++; at < text->size && text->text[at] != '"'; at++)
        at += text->text[at] == '\\';
    return at + 1;
}

static inline void changes_find(struct changes_text *text, const char *data, size_t size)
{
    uint32_t key = 0;
    bool in_list = false;
    *text = (struct changes_text){.text = data, .size = (uint32_t)size};
    for (uint32_t i = 0; i < text->size;) {
        uint32_t begin = i;
        if (i == 0 || data[i - 1] == '\n')
            if (text->line_count < CHANGES_LINES)
                text->lines[text->line_count++] = i;
        in_list = data[i] == '[' || (in_list && data[i] != ']');
        if (strchr(" \n,:{}[]", data[i])) {
            i++;
            continue;
        }
        if (data[i] == '"')
            i = changes_string_end(text, i);
        while (i < text->size && !strchr(" \n,:{}[]\"", data[i]))
            i++;
        if (i < text->size && data[i] == ':' && data[begin] == '"')
            key = begin;
        else if (text->value_count < CHANGES_VALUES)
            text->values[text->value_count++] = (struct changes_value){key, begin, i, in_list};
    }
    text->lines[text->line_count] = text->size;
}

static inline bool changes_same_key(const struct changes_text *text, uint32_t a, uint32_t b)
{
    const char *one = text->text + a, *other = text->text + b;
    size_t length = strcspn(one + 1, "\"");
    return strncmp(one, other, length + 2) == 0;
}

static inline bool changes_starts(const struct changes_text *text, uint32_t line, const char *words)
{
    return strncmp(text->text + text->lines[line], words, strlen(words)) == 0;
}

static inline void changes_take(const struct changes_text *text, struct changes_edit *edit,
                                uint32_t begin, uint32_t end)
{
    snprintf(edit->text, sizeof edit->text, "%.*s", (int)(end - begin), text->text + begin);
}

/* One that stands under the same key. */
static inline void changes_other_value(const struct changes_text *text,
                                       const struct changes_value *value, uint64_t *state,
                                       struct changes_edit *edit)
{
    for (int tries = 0; tries < 200; tries++) {
        const struct changes_value *other = &text->values[dice_below(state, text->value_count)];
        uint32_t length = other->end - other->begin;
        if (!changes_same_key(text, value->key, other->key) ||
            (length == value->end - value->begin &&
             !memcmp(text->text + other->begin, text->text + value->begin, length)))
            continue;
        changes_take(text, edit, other->begin, other->end);
        return;
    }
}

static inline void changes_number(const struct changes_text *text,
                                  const struct changes_value *value, uint64_t *state,
                                  struct changes_edit *edit)
{
    static const char *const borders[] = {"0",    "1",          "2",          "-1",
                                          "7",    "63",         "64",         "\"any\"",
                                          "null", "2147483647", "2147483648", "4294967295"};
    long long number = 0;
    bool plain = sscanf(text->text + value->begin, "%lld", &number) == 1;
    if (plain && dice_below(state, 4)) { /* beyond the largest is the least */
        unsigned long long step = dice_below(state, 2) ? 1 : ~0ull;
        snprintf(edit->text, sizeof edit->text, "%lld",
                 (long long)((unsigned long long)number + step));
    } else if (plain)
        snprintf(edit->text, sizeof edit->text, "%s",
                 borders[dice_below(state, sizeof borders / sizeof *borders)]);
}

/* Words that a key may have, whether they stand in this text or not. */
static inline void changes_word(const struct changes_text *text, const struct changes_value *value,
                                uint64_t *state, struct changes_edit *edit)
{
    static const char *const words[][9] = {
        {"\"op\"", "Send", "Ssend", "Bsend", "Isend", "Issend", "Ibsend", "Rsend", "Irsend"},
        {"\"op\"", "Recv", "Irecv", "Mrecv", "Imrecv", "Probe", "Iprobe", "Mprobe", "Improbe"},
        {"\"op\"", "Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany",
         "Testsome"},
        {"\"op\"", "Barrier", "Bcast", "Reduce", "Allreduce", "Gather", "Scatter", "Scan",
         "Ibarrier"},
        {"\"op\"", "Allgather", "Alltoall", "Gatherv", "Scatterv", "Reduce_scatter", "Exscan",
         "Iallreduce", "Ibcast"},
        {"\"op\"", "Comm_dup", "Comm_split", "Comm_free", "Win_create", "Win_free", "Win_fence",
         "Cancel", "Request_free"},
        {"\"op\"", "Init", "Finalize", "Abort", "Win_lock", "Win_unlock", "Put", "Alltoallv",
         "Comm_revoke"},
        {"\"outcome\"", "finished", "deadlock", "livelock", "aborted", "crashed", "timeout",
         "interrupted", "imported"},
        {"\"model\"", "eager", "rendezvous", "batch", "streams", "device", "eager", "rendezvous",
         "batch"},
        {"\"state\"", "never", "posted", "blocked", "complete", "failed", "cancelled", "finished",
         "running"},
        {"\"type\"", "float", "double", "int", "char", "byte", "int64", "uint64", "int8"},
        {"\"reduce\"", "sum", "max", "min", "prod", "user", "sum", "band", "maxloc"},
        {"\"flags\"", "nonblocking", "persistent", "compound", "in_place", "inactive",
         "buffer_changed", "adjoint", "across"},
        {"\"note\"", "X010", "M009", "B002", "L003", "L004", "L005", "X006", "S001"},
        {"\"note\"", "X002", "M007", "X008", "L010", "S002", "S003", "X004", "D005"},
        {"\"mode\"", "data", "program", "data", "program", "data", "program", "data", "program"}};
    uint32_t fits[16], count = 0;
    for (uint32_t i = 0; i < sizeof words / sizeof *words; i++) {
        bool same = !strncmp(text->text + value->key, words[i][0], strlen(words[i][0])),
             known = strcmp(words[i][0], "\"op\"") != 0;
        for (uint32_t k = 1; k < 9 && same && !known; k++)
            known =
                !strncmp(text->text + value->begin + 1, words[i][k], value->end - value->begin - 2);
        if (same && (known || !dice_below(state, 12)))
            fits[count++] = i;
    }
    if (count == 0)
        return;
    uint32_t list = fits[dice_below(state, count)], word = 1 + dice_below(state, 8);
    snprintf(edit->text, sizeof edit->text, "\"%s\"", words[list][word]);
}

/* What says where and when, and seldom matters. */
static inline bool changes_is_dull(const struct changes_text *text,
                                   const struct changes_value *value)
{
    static const char *const dull[] = {"\"site\"",   "\"begin\"", "\"end\"", "\"buffer\"",
                                       "\"extent\"", "\"at\"",    "\"id\"",  "\"rank\""};
    for (size_t i = 0; i < sizeof dull / sizeof *dull; i++)
        if (!strncmp(text->text + value->key, dull[i], strlen(dull[i])))
            return true;
    return false;
}

static inline bool changes_a_value(const struct changes_text *text, uint64_t *state,
                                   struct changes_edit *edit)
{
    const struct changes_value *value = &text->values[dice_below(state, text->value_count)];
    for (int tries = 0; tries < 4 && changes_is_dull(text, value); tries++)
        value = &text->values[dice_below(state, text->value_count)];
    uint32_t how = dice_below(state, 8);
    edit->begin = value->begin;
    edit->end = value->end;
    changes_take(text, edit, value->begin, value->end);
    if (how < 4)
        changes_other_value(text, value, state, edit);
    else if (how < 7 && text->text[value->begin] == '"')
        changes_word(text, value, state, edit);
    else if (how < 7)
        changes_number(text, value, state, edit);
    else if (!value->in_list && text->text[value->key - 1] == ',')
        edit->begin = value->key - 1, edit->text[0] = 0;
    return true;
}

/* The line says more: before its end. */
static inline bool changes_say_more(const struct changes_text *text, uint32_t line, uint64_t *state,
                                    struct changes_edit *edit)
{
    static const char *const more[] = {"\"state\":\"blocked\"",
                                       "\"state\":\"posted\"",
                                       "\"state\":\"never\"",
                                       "\"state\":\"failed\"",
                                       "\"state\":\"cancelled\"",
                                       "\"error\":15",
                                       "\"thread\":1",
                                       "\"batch\":1",
                                       "\"tag\":\"any\"",
                                       "\"peer\":\"any\"",
                                       "\"peer\":null",
                                       "\"pass\":1",
                                       "\"comm\":2",
                                       "\"flags\":[\"persistent\"]",
                                       "\"flags\":[\"nonblocking\"]",
                                       "\"flags\":[\"in_place\"]",
                                       "\"flags\":[\"inactive\"]",
                                       "\"flags\":[\"buffer_changed\"]",
                                       "\"flags\":[\"across\"]",
                                       "\"flags\":[\"adjoint\"]",
                                       "\"flags\":[\"compound\"]",
                                       "\"identity\":\"w\"",
                                       "\"deps\":[]",
                                       "\"requests\":[0,1]",
                                       "\"signature\":5"};
    uint32_t end = text->lines[line + 1];
    if (!changes_starts(text, line, "{\"op\"") || end < 2 || text->text[end - 2] != '}')
        return false;
    edit->begin = edit->end = end - 2;
    snprintf(edit->text, sizeof edit->text, ",%s",
             more[dice_below(state, sizeof more / sizeof *more)]);
    return true;
}

static inline bool changes_a_line(const struct changes_text *text, uint64_t *state,
                                  struct changes_edit *edit)
{
    uint32_t line = 1 + dice_below(state, text->line_count - 1), how = dice_below(state, 16);
    uint32_t begin = text->lines[line], end = text->lines[line + 1];
    edit->begin = begin;
    edit->end = end;
    edit->text[0] = 0;
    if (end - begin > sizeof edit->text / 3)
        return false;
    if (how < 4) /* missing */
        return true;
    if (how < 8 && line + 1 < text->line_count) { /* behind the next */
        uint32_t behind = text->lines[line + 2];
        if (behind - begin >= sizeof edit->text)
            return false;
        snprintf(edit->text, sizeof edit->text, "%.*s%.*s", (int)(behind - end), text->text + end,
                 (int)(end - begin), text->text + begin);
        edit->end = behind;
        return true;
    }
    if (how < 10 && changes_starts(text, line, "{\"op\"")) { /* twice */
        const char *id = strstr(text->text + begin, "\"id\":");
        if (!id || id > text->text + end)
            return false;
        uint32_t digits = (uint32_t)(id + 5 - text->text),
                 rest = digits + (uint32_t)strspn(id + 5, "0123456789");
        snprintf(edit->text, sizeof edit->text, "%.*s9%.*s", (int)(digits - begin),
                 text->text + begin, (int)(end - digits), text->text + digits);
        edit->end = begin;
        return rest < end;
    }
    return changes_say_more(text, line, state, edit);
}

static inline size_t changes_make(const struct changes_text *text, uint64_t *state, char *out)
{
    struct changes_edit edits[CHANGES_AT_ONCE];
    uint32_t count = 0, at = 0;
    size_t size = 0;
    for (uint32_t times = 1 + dice_below(state, CHANGES_AT_ONCE); times-- > 0;) {
        struct changes_edit edit;
        uint32_t place = count;
        bool made = dice_below(state, 3) ? changes_a_value(text, state, &edit)
                                         : changes_a_line(text, state, &edit);
        for (uint32_t i = 0; i < count && made; i++)
            made = edit.end < edits[i].begin || edit.begin > edits[i].end;
        for (; made && place > 0 && edits[place - 1].begin > edit.begin; place--)
            edits[place] = edits[place - 1];
        if (made) {
            edits[place] = edit;
            count++;
        }
    }
    for (uint32_t i = 0; i <= count; i++) {
        uint32_t end = i < count ? edits[i].begin : text->size,
                 length = i < count ? (uint32_t)strlen(edits[i].text) : 0;
        if (size + (end - at) + length > CHANGES_SIZE)
            break;
        memcpy(out + size, text->text + at, end - at);
        size += end - at;
        if (i == count)
            break;
        memcpy(out + size, edits[i].text, length);
        size += length;
        at = edits[i].end;
    }
    return size;
}

#endif
