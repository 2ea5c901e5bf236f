/* words.h: the words that a program was given, refused where they are of no use.
 *
 * A misspelt word that is taken for the usual one makes a run that shows nothing and passes. Here a
 * word that is not known, a number that is none or out of its range, and a word too many end the
 * run with one sentence and exit status 2 (SIM_Usage). Word 1 is argv[1]. */
#ifndef SIM_WORDS_H
#define SIM_WORDS_H

#include <mpix.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether `known`, words with one space between them, has this one. */
static inline bool words_have(const char *known, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = known; length && (at = strstr(at, word)) != NULL; at += length)
        if ((at == known || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return !strchr(word, ' ');
    return false;
}

/* Ends the run: `word` is none of `known`. `what` says what it would choose: "form". */
static inline void word_refuse(const char *what, const char *word, const char *known)
{
    char text[400];
    snprintf(text, sizeof text, "no %s is called '%.60s'; there are: %s", what, word, known);
    SIM_Usage(text);
}

/* Word `at`, which must be one of `known`; `usual` where none is given. */
static inline const char *word_of(int argc, char **argv, int at, const char *what,
                                  const char *usual, const char *known)
{
    if (argc <= at)
        return usual;
    if (!words_have(known, argv[at]))
        word_refuse(what, argv[at], known);
    return argv[at];
}

/* Whether word `at` is `other`: it must be that or `usual`, which stands for no word. */
static inline bool switch_of(int argc, char **argv, int at, const char *what, const char *usual,
                             const char *other)
{
    char known[200];
    snprintf(known, sizeof known, "%s %s", usual, other);
    return strcmp(word_of(argc, argv, at, what, usual, known), other) == 0;
}

/* Ends the run where there are more ranks than the program's tables have room for. */
static inline void ranks_at_most(int ranks, int most)
{
    char text[80];
    snprintf(text, sizeof text, "it has room for at most %d ranks, not %d", most, ranks);
    if (ranks > most)
        SIM_Usage(text);
}

/* Word `at` as a whole number from `least` to `most`; `usual` where none is given. */
static inline long number_of(int argc, char **argv, int at, const char *what, long usual,
                             long least, long most)
{
    char text[200], *end;
    if (argc <= at)
        return usual;
    long value = strtol(argv[at], &end, 10);
    if (end != argv[at] && !*end && value >= least && value <= most)
        return value;
    snprintf(text, sizeof text, "%s '%.60s': expected a whole number from %ld to %ld", what,
             argv[at], least, most);
    SIM_Usage(text);
    return usual;
}

/* No words behind word `last`. */
static inline void words_end(int argc, char **argv, int last)
{
    char text[200];
    if (argc <= last + 1)
        return;
    snprintf(text, sizeof text, "'%.60s' is a word too many: at most %d %s", argv[last + 1], last,
             last == 1 ? "is taken" : "are taken");
    SIM_Usage(text);
}

/* The only word. */
static inline const char *word_alone(int argc, char **argv, const char *what, const char *usual,
                                     const char *known)
{
    words_end(argc, argv, 1);
    return word_of(argc, argv, 1, what, usual, known);
}

static inline bool switch_alone(int argc, char **argv, const char *what, const char *usual,
                                const char *other)
{
    words_end(argc, argv, 1);
    return switch_of(argc, argv, 1, what, usual, other);
}

static inline long number_alone(int argc, char **argv, const char *what, long usual, long least,
                                long most)
{
    words_end(argc, argv, 1);
    return number_of(argc, argv, 1, what, usual, least, most);
}

#endif
