/* getopt, getopt_long and getopt_long_only for ranks: see hooks.h.
 *
 * libc's have hidden state that cannot be exchanged, so the documented behaviour of GNU getopt is
 * written anew: options and other words may be mixed (words are moved behind the options), "+" or
 * POSIXLY_CORRECT stop at the first other word, "-" hands such words over as argument of option 1,
 * ":" is silent and tells a missing argument apart, "--" ends; long options may be shortened and
 * take "=value" or the next word; optind = 0 starts again. The variables are those of the rank's
 * image. "W;" is not supported. */
#include "sim/libc/common.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One call. */
struct scan {
    struct sim_libc_state *state;
    struct sim_libc_getopt variables;
    int count;
    char **words;
    const char *options;
    const struct option *longs;
    int *long_index;
    bool long_only;
    bool silent, colon;
};

static void complain(const struct scan *scan, const char *before, const char *dashes,
                     const char *what, const char *after)
{
    if (!scan->silent)
        fprintf(stderr, "%s: %s'%s%s'%s\n", scan->words[0], before, dashes, what, after);
}

static void words_reverse(char **words, int from, int to)
{
    for (to--; from < to; from++, to--) {
        char *word = words[from];
        words[from] = words[to];
        words[to] = word;
    }
}

/* Moves the options read since the last passed-over words [first, last) before them. */
static void words_exchange(struct scan *scan)
{
    int *first = &scan->state->getopt.first, *last = &scan->state->getopt.last,
        now = *scan->variables.optind;
    words_reverse(scan->words, *first, *last);
    words_reverse(scan->words, *last, now);
    words_reverse(scan->words, *first, now);
    *first += now - *last;
    *last = now;
}

static void scan_start(struct scan *scan)
{
    struct sim_libc_state *state = scan->state;
    if (!state->getopt.started && scan->variables.shared)
        *scan->variables.optind = 0;
    if (*scan->variables.optind == 0) {
        /* Never touched if the program does not know the variables. */
        if (!state->getopt.started)
            *scan->variables.opterr = 1;
        *scan->variables.optind = 1;
        state->getopt.started = false;
    }
    if (!state->getopt.started) {
        state->getopt.first = state->getopt.last = *scan->variables.optind;
        state->getopt.cluster = NULL;
        state->getopt.started = true;
    }
    state->getopt.in_order = *scan->options == '-';
    state->getopt.ordered =
        *scan->options == '+' || (!state->getopt.in_order && getenv("POSIXLY_CORRECT"));
    scan->options += *scan->options == '-' || *scan->options == '+';
    scan->colon = *scan->options == ':';
    scan->silent = scan->colon || !*scan->variables.opterr;
}

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1];
}

/* Finds the next word that is an option. 0: there is one; otherwise what getopt returns. */
static int word_next(struct scan *scan)
{
    int *first = &scan->state->getopt.first, *last = &scan->state->getopt.last,
        *now = scan->variables.optind;
    *last = *last > *now ? *now : *last;
    *first = *first > *now ? *now : *first;
    if (!scan->state->getopt.ordered && !scan->state->getopt.in_order) {
        if (*first != *last && *last != *now)
            words_exchange(scan);
        else if (*last != *now)
            *first = *now;
        while (*now < scan->count && !is_option(scan->words[*now]))
            ++*now;
        *last = *now;
    }
    if (*now < scan->count && !strcmp(scan->words[*now], "--")) {
        ++*now;
        if (*first != *last && *last != *now)
            words_exchange(scan);
        else if (*first == *last)
            *first = *now;
        *last = scan->count;
        *now = scan->count;
    }
    if (*now >= scan->count) {
        if (*first != *last)
            *now = *first;
        return -1;
    }
    if (is_option(scan->words[*now]))
        return 0;
    if (scan->state->getopt.ordered)
        return -1;
    *scan->variables.optarg = scan->words[(*now)++];
    return 1;
}

/* The long option that `name` (of this length) means: NULL if none or several. An exact name wins.
 */
static const struct option *long_find(const struct scan *scan, const char *name, size_t length,
                                      bool *ambiguous)
{
    const struct option *found = NULL;
    *ambiguous = false;
    for (const struct option *option = scan->longs; option->name; option++) {
        if (strncmp(option->name, name, length))
            continue;
        if (strlen(option->name) == length) {
            *ambiguous = false;
            return option;
        }
        if (found && (scan->long_only || found->has_arg != option->has_arg ||
                      found->flag != option->flag || found->val != option->val))
            *ambiguous = true;
        found = found ? found : option;
    }
    return *ambiguous ? NULL : found;
}

static int long_take(struct scan *scan, const struct option *option, const char *value,
                     const char *dashes)
{
    if (value && option->has_arg == no_argument) {
        complain(scan, "option ", dashes, option->name, " doesn't allow an argument");
        *scan->variables.optopt = option->val;
        return '?';
    }
    if (!value && option->has_arg == required_argument) {
        if (*scan->variables.optind >= scan->count) {
            complain(scan, "option ", dashes, option->name, " requires an argument");
            *scan->variables.optopt = option->val;
            return scan->colon ? ':' : '?';
        }
        *scan->variables.optarg = scan->words[(*scan->variables.optind)++];
    } else {
        *scan->variables.optarg = (char *)(uintptr_t)value;
    }
    if (scan->long_index)
        *scan->long_index = (int)(option - scan->longs);
    if (!option->flag)
        return option->val;
    *option->flag = option->val;
    return 0;
}

/* A word that may be a long option. False if it is to be read as short ones. */
static bool long_read(struct scan *scan, const char *word, int *result)
{
    const char *dashes = word[1] == '-' ? "--" : "-", *name = word + strlen(dashes);
    size_t length = strcspn(name, "=");
    bool ambiguous, only_one = !strcmp(dashes, "-");
    if (only_one && (!scan->long_only || (!name[1] && strchr(scan->options, name[0]))))
        return false;
    const struct option *option = long_find(scan, name, length, &ambiguous);
    if (!option && !ambiguous && only_one && strchr(scan->options, name[0]))
        return false;
    ++*scan->variables.optind;
    if (option) {
        *result = long_take(scan, option, name[length] ? name + length + 1 : NULL, dashes);
        return true;
    }
    complain(scan, ambiguous ? "option " : "unrecognized option ", dashes, name,
             ambiguous ? " is ambiguous" : "");
    *scan->variables.optopt = 0;
    *result = '?';
    return true;
}

/* The next letter of a word like -abc. */
static int short_read(struct scan *scan)
{
    char **cluster = &scan->state->getopt.cluster, letter[2] = {*(*cluster)++, 0};
    const char *known =
        letter[0] == ':' || letter[0] == ';' ? NULL : strchr(scan->options, letter[0]);
    int *now = scan->variables.optind;
    if (!**cluster)
        ++*now;
    if (!known) {
        complain(scan, "invalid option -- ", "", letter, "");
        *scan->variables.optopt = letter[0];
        return '?';
    }
    if (known[1] != ':')
        return letter[0];
    if (**cluster) {
        *scan->variables.optarg = *cluster;
        ++*now;
    } else if (known[2] == ':') {
        *scan->variables.optarg = NULL;
    } else if (*now < scan->count) {
        *scan->variables.optarg = scan->words[(*now)++];
    } else {
        complain(scan, "option requires an argument -- ", "", letter, "");
        *scan->variables.optopt = letter[0];
        *cluster = NULL;
        return scan->colon ? ':' : '?';
    }
    *cluster = NULL;
    return letter[0];
}

static int scan_run(struct scan *scan)
{
    int result;
    if (scan->count < 1)
        return -1;
    libc_images->getopt(scan->state->program, scan->state->image, &scan->variables);
    *scan->variables.optarg = NULL;
    scan_start(scan);
    char **cluster = &scan->state->getopt.cluster;
    if (!*cluster || !**cluster) {
        int ended = word_next(scan);
        if (ended)
            return ended;
        char *word = scan->words[*scan->variables.optind];
        if (scan->longs && long_read(scan, word, &result)) {
            *cluster = NULL;
            return result;
        }
        *cluster = word + 1;
    }
    return short_read(scan);
}

static struct sim_libc_state *getopt_rank(const void *caller)
{
    struct sim_libc_state *state = libc_rank(caller);
    return state && state->program ? state : NULL;
}

int getopt(int count, char *const *words, const char *options)
{
    LIBC_REAL(getopt);
    struct scan scan = {getopt_rank(LIBC_CALLER), .count = count,
                        .words = (char **)(uintptr_t)words, .options = options};
    return scan.state ? scan_run(&scan) : real(count, words, options);
}

int getopt_long(int count, char *const *words, const char *options, const struct option *longs,
                int *long_index)
{
    LIBC_REAL(getopt_long);
    struct scan scan = {
        getopt_rank(LIBC_CALLER), .count = count, .words = (char **)(uintptr_t)words,
        .options = options,       .longs = longs, .long_index = long_index};
    return scan.state ? scan_run(&scan) : real(count, words, options, longs, long_index);
}

int getopt_long_only(int count, char *const *words, const char *options, const struct option *longs,
                     int *long_index)
{
    LIBC_REAL(getopt_long_only);
    struct scan scan = {
        getopt_rank(LIBC_CALLER), .count = count, .words = (char **)(uintptr_t)words,
        .options = options,       .longs = longs, .long_index = long_index,
        .long_only = true};
    return scan.state ? scan_run(&scan) : real(count, words, options, longs, long_index);
}
