#include "cli/running/printed.h"

#include "sim/libc/hooks.h"
#include "sim/libc/output.h"

#include <mpix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_SHOWN = 4 };

static const uint64_t first = 0xcbf29ce484222325u, prime = 0x100000001b3u;

void print_hash_add(struct print_hash *hash, const char *text, size_t size)
{
    hash->mixed = hash->mixed || sim_libc_place() == SIM_LIBC_THREAD;
    for (size_t i = 0; i < size; i++) {
        hash->bytes = ((hash->bytes ^ first ^ (unsigned char)text[i]) * prime) ^ first;
        hash->line = ((hash->line ^ first ^ (unsigned char)text[i]) * prime) ^ first;
        if (text[i] == '\n') {
            hash->lines += (hash->line ^ hash->line >> 29) * 0x9e3779b97f4a7c15u;
            hash->line = 0;
        }
    }
}

uint64_t print_hash_value(const struct print_hash *hash)
{
    return hash->mixed ? hash->lines + hash->line : hash->bytes;
}

static void take(void *context, int rank, int stream, const char *text, size_t size)
{
    void **slots = rank < 0 ? NULL : MPIX_Rank_slots();
    struct printed *ranks = slots ? slots[MPIX_SLOT_PRINTED] : NULL;
    (void)context;
    if (!ranks)
        return;
    struct printed *printed = &ranks[rank];
    (void)stream;
    print_hash_add(&printed->hash, text, size);
    size_t room = sizeof printed->text - printed->size, kept = size < room ? size : room;
    memcpy(printed->text + printed->size, text, kept);
    printed->size += (uint32_t)kept;
    printed->more = printed->more || kept < size;
}

/* A rank's own file is not looked at. */
static bool redirect(void *context, int rank, int stream, FILE *file)
{
    (void)context;
    (void)rank;
    (void)stream;
    fclose(file);
    return true;
}

bool printed_install(void)
{
    return sim_libc_output(&(struct sim_output){.text = take, .redirect = redirect});
}

static void add_lines(FILE *out, int rank, const struct printed *printed)
{
    for (uint32_t at = 0; at < printed->size;) {
        const char *end = memchr(printed->text + at, '\n', printed->size - at);
        uint32_t length = end ? (uint32_t)(end - printed->text) - at : printed->size - at;
        fprintf(out, "rank %d: ", rank);
        for (uint32_t i = 0; i < length; i++) { /* of a program: nothing that moves a cursor */
            unsigned char letter = (unsigned char)printed->text[at + i];
            fputc(letter < ' ' || letter == 127 ? '?' : letter, out);
        }
        fputs(printed->more && !end ? " ...\n" : "\n", out);
        at += length + 1;
    }
}

char *printed_text(const struct printed *ranks, int count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (int rank = 0; rank < count; rank++)
        add_lines(out, rank, &ranks[rank]);
    fclose(out);
    if (size)
        return text;
    free(text);
    return NULL;
}

void printed_show_difference(const char *text, const char *other)
{
    text = text ? text : "";
    other = other ? other : "";
    while (*text) {
        size_t length = strcspn(text, "\n") + 1;
        if (strncmp(text, other, length) != 0)
            break;
        text += length;
        other += length;
    }
    for (int i = 0; i < LINES_SHOWN && *text; i++) {
        size_t length = strcspn(text, "\n");
        printf("    prints  %.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
}
