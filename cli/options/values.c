/* How the values of options are written: see values.h. */
#include "cli/options/values.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than a process has room for: sums of a few such sizes do not overflow. */
static const uint64_t BYTES_MAX = (uint64_t)1 << 47;

bool value_refused(const char *option, const char *value, const char *wanted)
{
    fprintf(stderr, "simrun: --%s '%s': expected %s\n", option, value, wanted);
    return false;
}

int value_word(const char *value, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (!strcmp(value, words[i]))
            return i;
    return -1;
}

bool value_number(const char *value, unsigned long long *number)
{
    char *end;
    errno = 0;
    *number = strtoull(value, &end, 0);
    return isdigit((unsigned char)*value) && !*end && !errno;
}

bool value_between(const char *value, int least, int most, int *number)
{
    unsigned long long any;
    if (!value_number(value, &any) || any < (unsigned)least || any > (unsigned)most)
        return false;
    *number = (int)any;
    return true;
}

bool value_bytes(const char *value, size_t *bytes)
{
    static const char units[] = "KMG";
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 0);
    if (end == value || *value == '-' || errno)
        return false;
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    *bytes = (size_t)number << shift;
    return number <= BYTES_MAX >> shift && !end[unit != NULL];
}

bool value_seconds(const char *value, double least, double *seconds)
{
    char *end;
    *seconds = strtod(value, &end);
    return *value && !*end && *seconds >= least;
}
