/* Conformance suite: which cases there are, and their names. */
#include "tests/collectives/diff_conformance_internal.h"

#include "collectives/tape/tensor.h"

static bool op_fits(const struct conf_case *at)
{
    bool complex_type = diff_type_is_complex(at->type);
    bool ordered = at->op >= CONF_MAX && at->op <= CONF_MAXLOC;
    if (!conf_kinds[at->kind].reduces)
        return at->op == CONF_SUM;
    if (at->counts == CONF_TYPED && at->op != CONF_SUM && at->op != CONF_MAX)
        return false; /* what the datatypes do does not depend on it */
    if (at->op == CONF_AVG && (at->kind == DIFF_SCAN || at->kind == DIFF_EXSCAN))
        return false;
    return !(complex_type && ordered);
}

static bool values_fit(const struct conf_case *at)
{
    bool ordered = at->op >= CONF_MAX && at->op <= CONF_MAXLOC;
    if (at->values == CONF_RANDOM)
        return true;
    if (!conf_kinds[at->kind].reduces || at->counts == CONF_ZERO || at->counts == CONF_TYPED)
        return false;
    return at->values <= CONF_TWO_ZEROS ? at->op == CONF_PROD : ordered;
}

/* A buffer that is sent and received into must have room for what comes. */
static bool message_fits(const struct conf_case *at)
{
    if (at->comm == CONF_GRAPH || at->counts == CONF_GAPS || at->in_place)
        return false;
    bool one_way = at->kind == CONF_SENDRECV || at->kind == CONF_SENDRECV_REPLACE ||
                   at->kind == CONF_RSEND; /* to receive or wait */
    return !(one_way && at->nonblocking) &&
           !(at->kind == CONF_SENDRECV_REPLACE && at->counts == CONF_UNEQUAL);
}

static bool form_fits(const struct conf_case *at)
{
    int kind = at->kind;
    bool v = conf_kinds[kind].v;
    if (at->comm == CONF_INTER && !conf_inter_fits(at))
        return false;
    /* What a start does depends on neither of these. */
    if (at->persistent &&
        (at->nonblocking || conf_is_message(kind) || at->comm == CONF_REVERSED ||
         (at->type != DIFF_DOUBLE && at->type != DIFF_COMPLEX_FLOAT) || at->values != CONF_RANDOM ||
         at->counts == CONF_GAPS || at->counts == CONF_TYPED || at->root == 2))
        return false;
    if (conf_is_message(kind))
        return message_fits(at);
    if (at->counts == CONF_TYPED && (at->in_place || conf_is_w(kind) || kind == DIFF_BARRIER))
        return false;
    if ((at->counts >= CONF_UNEQUAL && at->counts <= CONF_GAPS && !v) ||
        (at->counts == CONF_GAPS && kind == DIFF_REDUCE_SCATTER))
        return false;
    if ((at->comm == CONF_GRAPH) != conf_is_neighbor(kind))
        return false;
    if (at->root > 0 && !conf_kinds[kind].rooted)
        return false;
    if (!at->in_place)
        return true;
    return !conf_is_neighbor(kind) && kind != DIFF_BARRIER;
}

/* Calls `visit` for every case of the matrix; one loop, nothing sampled. */
void conf_cases(void (*visit)(const struct conf_case *at, void *context), void *context)
{
    enum { FORMS = 8, ROOTS = 3, TYPES = 4 };
    for (int kind = 0; kind < CONF_KINDS; kind++)
        for (long i = 0;
             i < (long)CONF_OPS * TYPES * CONF_COMMS * CONF_COUNTS * CONF_VALUES * ROOTS * FORMS;
             i++) {
            long rest = i;
            struct conf_case at = {.kind = kind};
            at.op = (enum conf_op)(rest % CONF_OPS), rest /= CONF_OPS;
            at.type = (enum diff_type)(rest % TYPES), rest /= TYPES;
            at.comm = (enum conf_comm)(rest % CONF_COMMS), rest /= CONF_COMMS;
            at.counts = (enum conf_counts)(rest % CONF_COUNTS), rest /= CONF_COUNTS;
            at.values = (enum conf_values)(rest % CONF_VALUES), rest /= CONF_VALUES;
            at.root = (int)(rest % ROOTS), rest /= ROOTS;
            at.nonblocking = rest % 2, at.in_place = rest / 2 % 2, at.persistent = rest / 4;
            if (op_fits(&at) && values_fit(&at) && form_fits(&at))
                visit(&at, context);
        }
}

int conformance_text(const struct conf_case *at, char *text, size_t size)
{
    static const char *const ops[] = {"sum", "avg",    "prod",   "max",
                                      "min", "minloc", "maxloc", "user"};
    static const char *const comms[] = {"world", "reversed", "halves", "graph", "two groups"};
    static const char *const counts[] = {"two", "zero", "unequal", "gaps", "typed"};
    static const char *const values[] = {"random", "one zero", "two zeros",
                                         "2 ties", "3 ties",   "all tied"};
    static const char *const messages[] = {
        "Send",       "Ssend",  "Bsend",  "Rsend",    "Isend",
        "Issend",     "Ibsend", "Irsend", "Sendrecv", "Sendrecv_replace",
        "persistent", "probe"};
    static const char *const known[] = {"source and tag", "the tag", "nothing"};
    if (conf_is_message(at->kind))
        return snprintf(text, size, "%s %s on %s, counts %s, the receiver knows %s%s",
                        messages[at->kind - DIFF_COLLECTIVES], diff_type_name(at->type),
                        comms[at->comm], counts[at->counts], known[at->root],
                        at->nonblocking ? ", the other way to wait" : "");
    return snprintf(text, size, "%s%s %s %s on %s, counts %s, values %s, root %d%s",
                    at->nonblocking  ? "I"
                    : at->persistent ? "persistent "
                                     : "",
                    diff_collective_name((enum diff_collective)at->kind), ops[at->op],
                    diff_type_name(at->type), comms[at->comm], counts[at->counts],
                    values[at->values], at->root, at->in_place ? ", in place" : "");
}
