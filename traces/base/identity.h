/* What an operation moves, as a number: the hash of a tensor's or bucket's name. The same name has
 * the same number whoever gave it, a program, a schedule file or another tool's dump. */
#ifndef TRACES_BASE_IDENTITY_H
#define TRACES_BASE_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

/* Never 0, which means unknown. */
uint32_t trace_identity(const char *name, size_t length);

#endif
