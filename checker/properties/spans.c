/* A treap by begin and operation, each node with the largest end below it: see spans.h. */
#include "checker/properties/spans.h"

#include "checker/memory.h"

#include <stdlib.h>

struct span_node {
    struct span span;
    uint64_t last; /* largest end of this tree */
    uint32_t priority, left, right;
};

void spans_release(struct spans *spans)
{
    free(spans->nodes);
    *spans = (struct spans){0};
}

void spans_clear(struct spans *spans)
{
    spans->root = spans->count = spans->unused = 0;
}

static bool is_before(const struct span *a, const struct span *b)
{
    return a->begin != b->begin ? a->begin < b->begin : a->op < b->op;
}

static void renew(struct span_node *nodes, uint32_t at)
{
    struct span_node *node = &nodes[at];
    node->last = node->span.end;
    if (nodes[node->left].last > node->last)
        node->last = nodes[node->left].last;
    if (nodes[node->right].last > node->last)
        node->last = nodes[node->right].last;
}

/* Splits a tree into what is before `span` and the rest. */
static void split(struct span_node *nodes, uint32_t at, const struct span *span, uint32_t *before,
                  uint32_t *rest)
{
    if (!at) {
        *before = *rest = 0;
    } else if (is_before(&nodes[at].span, span)) {
        split(nodes, nodes[at].right, span, &nodes[at].right, rest);
        renew(nodes, *before = at);
    } else {
        split(nodes, nodes[at].left, span, before, &nodes[at].left);
        renew(nodes, *rest = at);
    }
}

/* All of `a` is before all of `b`. */
static uint32_t join(struct span_node *nodes, uint32_t a, uint32_t b)
{
    if (!a || !b)
        return a ? a : b;
    bool upper = nodes[a].priority > nodes[b].priority;
    if (upper)
        nodes[a].right = join(nodes, nodes[a].right, b);
    else
        nodes[b].left = join(nodes, a, nodes[b].left);
    renew(nodes, upper ? a : b);
    return upper ? a : b;
}

/* A priority: any numbers without a pattern will do; these are the same in every run. */
static uint32_t mix(uint32_t number)
{
    number *= 0x9e3779b1u;
    number = (number ^ number >> 15) * 0x85ebca6bu;
    return number ^ number >> 13;
}

static uint32_t new_node(struct spans *spans, const struct span *span)
{
    uint32_t at = spans->unused;
    if (at) {
        spans->unused = spans->nodes[at].left;
    } else {
        at = ++spans->count;
        spans->nodes = check_grow(spans->nodes, &spans->room, (size_t)at + 1, sizeof *spans->nodes);
        spans->nodes[0] = (struct span_node){0};
    }
    spans->nodes[at] = (struct span_node){*span, span->end, mix(span->op + 1), 0, 0};
    return at;
}

void spans_add(struct spans *spans, const struct span *span)
{
    uint32_t at = new_node(spans, span), before, rest;
    split(spans->nodes, spans->root, span, &before, &rest);
    spans->root = join(spans->nodes, join(spans->nodes, before, at), rest);
}

void spans_remove(struct spans *spans, const struct span *span)
{
    uint32_t before, rest, found;
    const struct span next = {span->begin, span->end, span->op + 1};
    if (!spans->root)
        return;
    split(spans->nodes, spans->root, span, &before, &rest);
    split(spans->nodes, rest, &next, &found, &rest);
    if (found) {
        spans->nodes[found].left = spans->unused;
        spans->unused = found;
    }
    spans->root = join(spans->nodes, before, rest);
}

/* Whether to go on. */
static bool visit(const struct span_node *nodes, uint32_t at, const struct span *span,
                  bool (*look)(void *context, uint32_t op), void *context)
{
    const struct span_node *node = &nodes[at];
    if (!at || node->last <= span->begin)
        return true;
    if (!visit(nodes, node->left, span, look, context))
        return false;
    if (node->span.begin >= span->end)
        return true;
    if (node->span.end > span->begin && !look(context, node->span.op))
        return false;
    return visit(nodes, node->right, span, look, context);
}

void spans_overlapping(const struct spans *spans, const struct span *span,
                       bool (*look)(void *context, uint32_t op), void *context)
{
    if (spans->root)
        visit(spans->nodes, spans->root, span, look, context);
}
