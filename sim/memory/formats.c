/* What programs call of libc that prints: which text is read for it, and where the result goes. See
 * wraps.h. */
#include "sim/memory/wraps.h"

#include <printf.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* formats are the program's */

enum { ARGUMENTS = 64, FROM_ARGUMENT = -1, NO_PRECISION = -2 };

/* What a format says of how far its arguments are read, by argument: a number, FROM_ARGUMENT (the one before says it), NO_PRECISION.
 * False: it numbers its arguments. */
static bool precisions_of(const char *format, int precisions[ARGUMENTS])
{
    int argument = 0;
    for (const char *at = strchr(format, '%'); at; at = strchr(at, '%')) {
        int precision = NO_PRECISION;
        for (at++; *at && strchr("-+ #0'I*123456789$", *at); at++) {
            if (*at == '$')
                return false;
            argument += *at == '*';
        }
        if (*at == '.') {
            precision = at[1] == '*' ? FROM_ARGUMENT : (int)strtol(at + 1, NULL, 10);
            argument += at[1] == '*';
            at += 1 + strspn(at + 1, "*0123456789");
        }
        at += strspn(at, "hlLqjzt");
        bool takes = *at && *at != '%' && *at != 'm';
        if (takes && argument < ARGUMENTS)
            precisions[argument] = precision;
        argument += takes;
        at += *at != 0;
    }
    return true;
}

static size_t read_of(const char *text, int precision)
{
    size_t most = precision < 0 ? SIZE_MAX : (size_t)precision, length = strnlen(text, most);
    return length < most ? length + 1 : most;
}

/* The text that a format's arguments lead to, as far as it is read; where a format numbers its arguments and has precisions, the first byte
 * of each. Without knowing an argument nobody knows where the next one is. */
static void tell_arguments(const char *format, va_list arguments, const void *site)
{
    int types[ARGUMENTS], precisions[ARGUMENTS] = {0}, number = 0;
    if (!sim_access_matters())
        return;
    size_t count = parse_printf_format(format, ARGUMENTS, types);
    bool known = precisions_of(format, precisions), whole = known || !strchr(format, '.');
    sim_access_range(format, strlen(format) + 1, false, site);
    for (size_t i = 0; i < count && i < ARGUMENTS; i++) {
        int type = types[i] & ~PA_FLAG_MASK;
        const char *text;
        if (types[i] & PA_FLAG_PTR) {
            (void)va_arg(arguments, void *);
            continue;
        }
        switch (type) {
        case PA_INT:
            if (types[i] & (PA_FLAG_LONG_LONG | PA_FLAG_LONG))
                (void)va_arg(arguments, long long);
            else
                number = va_arg(arguments, int);
            break;
        case PA_CHAR:
            (void)va_arg(arguments, int);
            break;
        case PA_WCHAR:
            (void)va_arg(arguments, unsigned);
            break;
        case PA_POINTER:
        case PA_WSTRING:
            (void)va_arg(arguments, void *);
            break;
        case PA_FLOAT:
        case PA_DOUBLE:
            if (types[i] & PA_FLAG_LONG_DOUBLE)
                (void)va_arg(arguments, long double);
            else
                (void)va_arg(arguments, double);
            break;
        case PA_STRING:
            text = va_arg(arguments, const char *);
            if (known && precisions[i] != FROM_ARGUMENT)
                number = precisions[i];
            if (text)
                sim_access_range(text, whole ? read_of(text, known ? number : -1) : 1, false, site);
            break;
        default:
            return;
        }
    }
}

/* Before it is printed there. */
static void tell_result(char *to, size_t room, const char *format, va_list list, const void *site)
{
    va_list again;
    if (!sim_access_matters() || !room)
        return;
    va_copy(again, list);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length >= 0)
        sim_access_range(to, (size_t)length < room ? (size_t)length + 1 : room, true, site);
}

/* What `CALL` does of the format and `list`. */
#define PRINTS(type, name, parameters, before, CALL)                                               \
    WRAP(type, name, parameters)                                                                   \
    {                                                                                              \
        va_list list, again;                                                                       \
        va_start(list, before);                                                                    \
        va_copy(again, list);                                                                      \
        tell_arguments(format, again, CALLER);                                                     \
        va_end(again);                                                                             \
        type printed = CALL;                                                                       \
        va_end(list);                                                                              \
        return printed;                                                                            \
    }

static int print_to(char *to, size_t room, const char *format, va_list list, const void *site)
{
    tell_result(to, room, format, list, site);
    return room == SIZE_MAX ? vsprintf(to, format, list) : vsnprintf(to, room, format, list);
}

PRINTS(int, printf, (const char *format, ...), format, vprintf(format, list))
PRINTS(int, fprintf, (FILE * file, const char *format, ...), format, vfprintf(file, format, list))
PRINTS(int, sprintf, (char *to, const char *format, ...), format,
       print_to(to, SIZE_MAX, format, list, CALLER))
PRINTS(int, snprintf, (char *to, size_t room, const char *format, ...), format,
       print_to(to, room, format, list, CALLER))

/* As fortified headers call them; what they would refuse, these do not look at. */
int __vprintf_chk(int flag, const char *format, va_list list);
int __vfprintf_chk(FILE *file, int flag, const char *format, va_list list);
int __vsprintf_chk(char *to, int flag, size_t room, const char *format, va_list list);
int __vsnprintf_chk(char *to, size_t size, int flag, size_t room, const char *format, va_list list);

PRINTS(int, __printf_chk, (int flag, const char *format, ...), format,
       __vprintf_chk(flag, format, list))
PRINTS(int, __fprintf_chk, (FILE * file, int flag, const char *format, ...), format,
       __vfprintf_chk(file, flag, format, list))

static int checked_print_to(char *to, size_t size, int flag, size_t room, const char *format,
                            va_list list, const void *site)
{
    tell_result(to, size, format, list, site);
    return size == SIZE_MAX ? __vsprintf_chk(to, flag, room, format, list)
                            : __vsnprintf_chk(to, size, flag, room, format, list);
}

PRINTS(int, __sprintf_chk, (char *to, int flag, size_t room, const char *format, ...), format,
       checked_print_to(to, SIZE_MAX, flag, room, format, list, CALLER))
PRINTS(int, __snprintf_chk, (char *to, size_t size, int flag, size_t room, const char *format, ...),
       format, checked_print_to(to, size, flag, room, format, list, CALLER))

/* ---- without a format ---- */

WRAP(int, puts, (const char *text))
{
    READS(text, strlen(text) + 1);
    return puts(text);
}

WRAP(int, fputs, (const char *text, FILE *file))
{
    READS(text, strlen(text) + 1);
    return fputs(text, file);
}

WRAP(char *, fgets, (char *to, int size, FILE *file))
{
    char *line = fgets(to, size, file);
    if (line)
        WRITES(to, strlen(to) + 1);
    return line;
}

char *__fgets_chk(char *to, size_t room, int size, FILE *file);
WRAP(char *, __fgets_chk, (char *to, size_t room, int size, FILE *file))
{
    char *line = __fgets_chk(to, room, size, file);
    if (line)
        WRITES(to, strlen(to) + 1);
    return line;
}
