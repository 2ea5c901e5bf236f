/* Failures of the environment: see failure.h. */
#include "traces/base/failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int failure_set(struct failure *failure, int code, const char *format, ...)
{
    if (!failure)
        return code;
    failure->code = code;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->text, sizeof failure->text, format, arguments);
    va_end(arguments);
    return code;
}

int failure_prefix(struct failure *failure, const char *format, ...)
{
    if (!failure)
        return FAILURE_INTERNAL;
    char context[sizeof failure->text];
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(context, sizeof context, format, arguments);
    va_end(arguments);
    if (used < 0 || (size_t)used >= sizeof context)
        return failure->code;
    size_t room = sizeof context - (size_t)used;
    if (room > 3)
        snprintf(context + used, room, ": %.*s", (int)room - 3, failure->text);
    memcpy(failure->text, context, sizeof context);
    return failure->code;
}
