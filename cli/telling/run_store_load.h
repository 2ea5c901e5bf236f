/* A run of the database, loaded: what the commands that show, draw and compare start from. */
#ifndef CLI_TELLING_RUN_STORE_LOAD_H
#define CLI_TELLING_RUN_STORE_LOAD_H

#include "cli/telling/result.h"
#include "traces/store/store.h"

struct stored {
    struct store *store;
    struct result result; /* run, trace, findings, command; filled as after the run */
    char outcome[32], started[40], hash[40], schedule[32];
    int64_t exit_code;
};

/* Opens a database for reading. The sentence of a failure says how to make one. */
struct store *stored_database(const char *path, struct failure *failure);
/* Loads run `word` ("17"), or the newest where it is NULL, with its trace and findings. Release it
 * in either case. */
bool stored_open(struct stored *stored, const char *database, const char *word,
                 struct failure *failure);
void stored_release(struct stored *stored);
/* Whether a word is the number of a run. */
bool stored_is_number(const char *word);
/* --finding and --witness: "2", counted from 1, as an index from 0 of the run's findings; false
 * with a sentence. */
bool stored_finding(const struct stored *stored, const char *word, int *index,
                    struct failure *failure);

#endif
