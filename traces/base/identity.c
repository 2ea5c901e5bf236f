/* FNV-1a with 32 bits. See identity.h. */
#include "traces/base/identity.h"

uint32_t trace_identity(const char *name, size_t length)
{
    uint32_t hash = 0x811c9dc5u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 0x01000193u;
    return hash ? hash : 1;
}
