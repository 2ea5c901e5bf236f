/* What programs call of libc that reads and writes text: see wraps.h. */
#include "sim/memory/wraps.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* How many bytes a comparison of up to `most` looks at. */
static size_t compared(const char *a, const char *b, size_t most)
{
    size_t i = 0;
    while (i < most && a[i] == b[i] && a[i])
        i++;
    return i < most ? i + 1 : i;
}

static void compares(const char *a, const char *b, size_t size, const void *site)
{
    sim_access_range(a, size, false, site);
    sim_access_range(b, size, false, site);
}

static void copies(char *to, const char *from, size_t size, const void *site)
{
    sim_access_range(from, size, false, site);
    sim_access_range(to, size, true, site);
}

static size_t whole(const char *text, size_t most)
{
    size_t length = strnlen(text, most);
    return length < most ? length + 1 : most;
}

WRAP(size_t, strlen, (const char *text))
{
    size_t length = strlen(text);
    READS(text, length + 1);
    return length;
}

WRAP(size_t, strnlen, (const char *text, size_t most))
{
    READS(text, whole(text, most));
    return strnlen(text, most);
}

/* ---- looking ---- */

WRAP(int, strcmp, (const char *a, const char *b))
{
    compares(a, b, compared(a, b, SIZE_MAX), CALLER);
    return strcmp(a, b);
}

WRAP(int, strncmp, (const char *a, const char *b, size_t most))
{
    compares(a, b, compared(a, b, most), CALLER);
    return strncmp(a, b, most);
}

WRAP(int, strcasecmp, (const char *a, const char *b))
{
    READS(a, 1);
    READS(b, 1);
    return strcasecmp(a, b);
}

WRAP(int, strncasecmp, (const char *a, const char *b, size_t most))
{
    READS(a, most > 0);
    READS(b, most > 0);
    return strncasecmp(a, b, most);
}

WRAP(char *, strchr, (const char *text, int wanted))
{
    char *found = strchr(text, wanted);
    READS(text, found ? (size_t)(found - text) + 1 : strlen(text) + 1);
    return found;
}

WRAP(char *, strrchr, (const char *text, int wanted))
{
    READS(text, strlen(text) + 1);
    return strrchr(text, wanted);
}

WRAP(char *, strstr, (const char *text, const char *wanted))
{
    char *found = strstr(text, wanted);
    READS(wanted, strlen(wanted) + 1);
    READS(text, found ? (size_t)(found - text) + strlen(wanted) : strlen(text) + 1);
    return found;
}

WRAP(char *, strdup, (const char *text))
{
    READS(text, strlen(text) + 1);
    return strdup(text);
}

/* ---- copying ---- */

WRAP(char *, strcpy, (char *to, const char *from))
{
    copies(to, from, strlen(from) + 1, CALLER);
    return strcpy(to, from);
}

WRAP(char *, stpcpy, (char *to, const char *from))
{
    copies(to, from, strlen(from) + 1, CALLER);
    return stpcpy(to, from);
}

WRAP(char *, strncpy, (char *to, const char *from, size_t size))
{
    READS(from, whole(from, size));
    WRITES(to, size);
    return strncpy(to, from, size);
}

WRAP(char *, strcat, (char *to, const char *from))
{
    size_t length = strlen(to);
    READS(to, length + 1);
    copies(to + length, from, strlen(from) + 1, CALLER);
    return strcat(to, from);
}

WRAP(char *, strncat, (char *to, const char *from, size_t most))
{
    size_t length = strlen(to);
    READS(to, length + 1);
    READS(from, whole(from, most));
    WRITES(to + length, strnlen(from, most) + 1);
    return strncat(to, from, most);
}

/* As fortified headers call them. */
char *__strcpy_chk(char *to, const char *from, size_t room);
char *__stpcpy_chk(char *to, const char *from, size_t room);
char *__strncpy_chk(char *to, const char *from, size_t size, size_t room);
char *__strcat_chk(char *to, const char *from, size_t room);
char *__strncat_chk(char *to, const char *from, size_t most, size_t room);

WRAP(char *, __strcpy_chk, (char *to, const char *from, size_t room))
{
    copies(to, from, strlen(from) + 1, CALLER);
    return __strcpy_chk(to, from, room);
}

WRAP(char *, __stpcpy_chk, (char *to, const char *from, size_t room))
{
    copies(to, from, strlen(from) + 1, CALLER);
    return __stpcpy_chk(to, from, room);
}

WRAP(char *, __strncpy_chk, (char *to, const char *from, size_t size, size_t room))
{
    READS(from, whole(from, size));
    WRITES(to, size);
    return __strncpy_chk(to, from, size, room);
}

WRAP(char *, __strcat_chk, (char *to, const char *from, size_t room))
{
    size_t length = strlen(to);
    READS(to, length + 1);
    copies(to + length, from, strlen(from) + 1, CALLER);
    return __strcat_chk(to, from, room);
}

WRAP(char *, __strncat_chk, (char *to, const char *from, size_t most, size_t room))
{
    size_t length = strlen(to);
    READS(to, length + 1);
    READS(from, whole(from, most));
    WRITES(to + length, strnlen(from, most) + 1);
    return __strncat_chk(to, from, most, room);
}

/* ---- numbers ---- */

#define NUMBER(type, name)                                                                         \
    WRAP(type, name, (const char *text, char **end))                                               \
    {                                                                                              \
        char *own;                                                                                 \
        type value = name(text, &own);                                                             \
        READS(text, (size_t)(own - text) + 1);                                                     \
        if (end)                                                                                   \
            *end = own;                                                                            \
        return value;                                                                              \
    }
NUMBER(double, strtod)
NUMBER(float, strtof)

/* As C17 and as C23 read them, which newer libraries keep apart. */
#define INTEGER_BY(type, name, real)                                                               \
    WRAP(type, name, (const char *text, char **end, int base))                                     \
    {                                                                                              \
        char *own;                                                                                 \
        type value = real(text, &own, base);                                                       \
        READS(text, (size_t)(own - text) + 1);                                                     \
        if (end)                                                                                   \
            *end = own;                                                                            \
        return value;                                                                              \
    }
#define INTEGER(type, name)                                                                        \
    INTEGER_BY(type, name, c17_##name)                                                             \
    INTEGER_BY(type, __isoc23_##name, (c23_##name ? c23_##name : c17_##name))
INTEGER(long, strtol)
INTEGER(unsigned long, strtoul)
INTEGER(long long, strtoll)
INTEGER(unsigned long long, strtoull)

WRAP(int, atoi, (const char *text))
{
    char *end;
    int value = (int)strtol(text, &end, 10);
    READS(text, (size_t)(end - text) + 1);
    return value;
}

WRAP(long, atol, (const char *text))
{
    char *end;
    long value = strtol(text, &end, 10);
    READS(text, (size_t)(end - text) + 1);
    return value;
}

WRAP(double, atof, (const char *text))
{
    char *end;
    double value = strtod(text, &end);
    READS(text, (size_t)(end - text) + 1);
    return value;
}
