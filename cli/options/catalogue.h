/* The catalogue: scenarios that describe themselves in their head comment.
 *
 *   about: one sentence, may go on in further lines
 *   ranks: 2,4,16            (the first is what a plain run uses)
 *   options: --order data    (of simrun; optional)
 *   requires: header:fftw3.h (what it needs besides; requirement.h; optional)
 *   expect: OK               (or codes: "D002 G001"; per progress model: "eager=OK rendezvous=D002
 *                            batch=D004")
 *   variant: NAME; arguments: words; options: ...; ranks: ...; expect: ...
 *
 * A variant inherits what it does not say. NAME alone means the head's own run, NAME:VARIANT a
 * variant. */
#ifndef CLI_OPTIONS_CATALOGUE_H
#define CLI_OPTIONS_CATALOGUE_H

#include "traces/base/failure.h"

#include <stdbool.h>
#include <stddef.h>

struct catalogue_entry {
    char name[64];    /* file name without .c */
    char variant[64]; /* "" for the head's own run */
    char path[512];
    char about[400];
    char arguments[256], options[256];
    char expect[160];
    char requirements[200];
    int ranks[32];
    int rank_count;
};

struct catalogue {
    struct catalogue_entry *entries;
    size_t count, room;
};

/* Reads every scenario's head; sorted by name, variants in file order. */
bool catalogue_read(struct catalogue *catalogue, struct failure *failure);
void catalogue_release(struct catalogue *catalogue);
/* "name" or "name:variant"; NULL when there is none. */
const struct catalogue_entry *catalogue_find(const struct catalogue *catalogue, const char *word);
/* The nearest name, NULL when none is near. */
const char *catalogue_did_you_mean(const struct catalogue *catalogue, const char *word);
/* Reads the head comment of one file as catalogue_read does: for programs outside the catalogue
 * that describe themselves. */
bool catalogue_read_file(struct catalogue *catalogue, const char *path, const char *name,
                         struct failure *failure);
/* The folder of the scenarios: beside the source tree of a build, or under PREFIX/share/simrun.
 * NULL when there is none. */
const char *catalogue_folder(void);

#endif
