/* The table of operation kinds: see kinds.h. */
#include "traces/trace/kinds.h"

#include <string.h>

static const char *const names[OP_KIND_LIMIT] = {
#define X(number, enumerator, name, class, blocking) [number] = name,
    OP_KINDS(X)
#undef X
};

const unsigned char op_kind_classes[OP_KIND_LIMIT] = {
#define X(number, enumerator, name, class, blocking) [number] = class,
    OP_KINDS(X)
#undef X
};

const char *op_kind_name(int kind)
{
    return kind >= 0 && kind < OP_KIND_LIMIT && names[kind] ? names[kind] : "?";
}

const char *op_class_name(enum op_class class)
{
    switch (class) {
    case CLASS_SEND:
    case CLASS_RECEIVE:
    case CLASS_PROBE:
        return "p2p";
    case CLASS_COLLECTIVE:
        return "coll";
    case CLASS_WAIT:
        return "wait";
    case CLASS_COMPUTE:
        return "compute";
    case CLASS_NONE:
    case CLASS_CONTROL:
        break;
    }
    return "control";
}

enum op_kind op_kind_by_name(const char *name)
{
    for (int kind = 1; kind < OP_KIND_LIMIT; kind++)
        if (names[kind] && strcmp(names[kind], name) == 0)
            return (enum op_kind)kind;
    return OP_NONE;
}
