/* The table of operation kinds: see kinds.h. */
#include "traces/trace/kinds.h"

#include <string.h>

static const struct {
    const char *name;
    enum op_class class;
} kinds[OP_KIND_LIMIT] = {
#define X(number, enumerator, name_, class_, blocking) [number] = {name_, class_},
    OP_KINDS(X)
#undef X
};

const char *op_kind_name(int kind)
{
    return kind >= 0 && kind < OP_KIND_LIMIT && kinds[kind].name ? kinds[kind].name : "?";
}

enum op_class op_kind_class(int kind)
{
    return kind >= 0 && kind < OP_KIND_LIMIT ? kinds[kind].class : CLASS_NONE;
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
        if (kinds[kind].name && strcmp(kinds[kind].name, name) == 0)
            return (enum op_kind)kind;
    return OP_NONE;
}
