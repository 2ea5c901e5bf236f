/* Running the compiler, and reading the rule it writes about the headers a source includes. */
#ifndef SIM_COMPILE_COMPILER_H
#define SIM_COMPILE_COMPILER_H

#include "sim/base/hash.h"
#include "traces/base/failure.h"

#include <stdbool.h>
#include <stddef.h>

enum { ARGUMENTS_MAX = 192 };

struct arguments {
    const char *words[ARGUMENTS_MAX]; /* the last one added is followed by NULL */
    int count;
};

/* The words of the compiler to use: $SIMRUN_`name`, else $`name` unless that names a compiler
 * wrapper (a build system's CC=simcc comes down here, too), else `usual`. */
const char *compiler_words(const char *name, const char *usual);

/* Whether this word of a command is clang: by its name, or by what a name such as cc stands for. */
bool compiler_is_clang(const char *word);

/* The path of the wrapper for Fortran beside the running program; empty: there is none. */
const char *compiler_simfort(void);

/* Beyond the last place words are counted, not kept: compiler_run says so. */
void arguments_add(struct arguments *arguments, const char *word);
void arguments_add_all(struct arguments *arguments, const char *const *words, size_t count);

/* Runs `program` and waits. 0, or a failure code with a sentence about `source`: FAILURE_INTERNAL
 * where the compiler broke, which gcc tells if it is given -pass-exit-codes. */
int compiler_run(const char *program, const struct arguments *arguments, const char *source,
                 struct failure *failure);

/* The option for the plugin that lets loops of instrumented programs run at their own speed
 * (loops.cc), built for this very compiler; `words` are its command. NULL: there is none. */
const char *compiler_loops(const struct arguments *words);
/* What compilers there are such plugins for is part of an object's name. */
void compiler_loops_hash(struct hash *hash);

/* Turns the compiler's rule `target: a.c b.h \ c.h` in the file `rule` into a list of headers'
 * paths in the file `list`, one a line, without the source. False when a file cannot be read or
 * written. */
bool compiler_headers(const char *rule, const char *list);

#endif
