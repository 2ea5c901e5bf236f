/* Keeping runs: what the commands that run or judge something do with the database of results. */
#ifndef CLI_TELLING_RUN_STORE_WRITE_H
#define CLI_TELLING_RUN_STORE_WRITE_H

#include "cli/telling/result.h"
#include "traces/store/store.h"

/* Opens the database for writing; `store` is NULL and all is well for "none" and NULL. The sentence
 * of a failure ends with the remedy. */
bool keep_open(const char *database, struct store **store, struct failure *failure);
/* Commits that a run begins: its number, 0 with a sentence. */
int64_t keep_begin(struct store *store, const struct job *job, const char *command, int64_t parent,
                   struct failure *failure);
/* Commits the trace, before it is judged: a failure of the judge does not lose it. */
bool keep_trace(struct store *store, int64_t run, const struct run_options *options,
                const struct verdict *verdict, struct failure *failure);
/* Adds what came of it. */
bool keep_finish(struct store *store, int64_t run, const struct run_options *options,
                 const struct verdict *verdict, struct failure *failure);
/* For a run that could not be made. */
void keep_give_up(struct store *store, int64_t run, int status);

#endif
