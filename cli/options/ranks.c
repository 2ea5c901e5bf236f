/* Lists of rank counts: see ranks.h. */
#include "cli/options/ranks.h"

#include <stdlib.h>
#include <string.h>

static bool number(const char **text, long *value)
{
    char *end;
    *value = strtol(*text, &end, 10);
    bool good = end != *text;
    *text = end;
    return good;
}

static bool add_range(long from, long to, int *ranks, int room, int *count, struct failure *failure)
{
    if (from < 1 || to > RANKS_MOST) {
        failure_set(failure, FAILURE_USAGE, "%ld ranks: there must be between 1 and %d",
                    from < 1 ? from : to, RANKS_MOST);
        return false;
    }
    for (long n = from; n <= to; n++) {
        if (*count == room) {
            failure_set(failure, FAILURE_USAGE, "more than %d numbers of ranks in one list", room);
            return false;
        }
        ranks[(*count)++] = (int)n;
    }
    return true;
}

bool ranks_parse(const char *text, int *ranks, int room, int *count, struct failure *failure)
{
    const char *at = text;
    *count = 0;
    for (;;) {
        long from, to;
        if (!number(&at, &from))
            break;
        to = from;
        if (!strncmp(at, "..", 2)) {
            at += 2;
            if (!number(&at, &to))
                break;
        }
        if (from > to) {
            failure_set(failure, FAILURE_USAGE, "'%s': the range %ld..%ld is empty", text, from,
                        to);
            return false;
        }
        if (!add_range(from, to, ranks, room, count, failure))
            return false;
        at += strspn(at, " ");
        if (!*at)
            return true;
        at += *at == ',';
        at += strspn(at, " ");
    }
    failure_set(failure, FAILURE_USAGE,
                "'%s' is not a list of rank counts such as 16, 2,3,5 or 2..8", text);
    return false;
}
