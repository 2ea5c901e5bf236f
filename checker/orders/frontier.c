#include "checker/orders/frontier.h"

#include "checker/memory.h"

#include <stdlib.h>

void frontier_init(struct frontier *frontier, const struct check_partial_order *reach,
                   const bool *wanted, bool backwards)
{
    size_t ops = reach->context->trace->op_count, words = 0, items = 0;
    *frontier = (struct frontier){.reach = reach, .backwards = backwards};
    frontier->present = check_new(ops, sizeof *frontier->present);
    frontier->link = check_new(ops + 2, sizeof *frontier->link);
    frontier->items_begin = check_new(reach->segment_count, sizeof *frontier->items_begin);
    frontier->left_begin = check_new(reach->segment_count, sizeof *frontier->left_begin);
    for (size_t s = 0; s < reach->segment_count; s++) {
        frontier->items_begin[s] = words;
        frontier->left_begin[s] = items;
        words += reach->segments[s].pieces * BIT_PIECE_WORDS;
        items += reach->segments[s].item_count;
    }
    frontier->items = check_new(words, sizeof *frontier->items);
    frontier->left = check_new(items, sizeof *frontier->left);
    for (uint32_t i = 0; i < ops + 2; i++)
        frontier->link[i] = i;
    for (uint32_t op = 0; op < ops; op++) {
        frontier->present[op] = true;
        uint32_t item = reach->item_of[op], segment = reach->segment_of[op];
        if (item == TRACE_NO)
            continue;
        frontier->left[frontier->left_begin[segment] + item]++;
        frontier->items[frontier->items_begin[segment] + item / 64] |= UINT64_C(1) << (item % 64);
    }
    for (uint32_t op = 0; op < ops; op++)
        if (!wanted[op])
            frontier_remove(frontier, op);
}

void frontier_release(struct frontier *frontier)
{
    free(frontier->present);
    free(frontier->link);
    free(frontier->items);
    free(frontier->items_begin);
    free(frontier->left);
    free(frontier->left_begin);
    *frontier = (struct frontier){0};
}

/* Links are numbered from 1 so that a backward chain can end at 0. */
void frontier_remove(struct frontier *frontier, uint32_t op)
{
    if (!frontier->present[op])
        return;
    frontier->present[op] = false;
    frontier->link[op + 1] = frontier->backwards ? op : op + 2;
    uint32_t item = frontier->reach->item_of[op], segment = frontier->reach->segment_of[op];
    if (item != TRACE_NO && --frontier->left[frontier->left_begin[segment] + item] == 0)
        frontier->items[frontier->items_begin[segment] + item / 64] &=
            ~(UINT64_C(1) << (item % 64));
}

/* The nearest present number at or beyond `number` in the walk's direction. */
static uint32_t follow(struct frontier *frontier, uint32_t number)
{
    uint32_t end = number;
    while (frontier->link[end] != end)
        end = frontier->link[end];
    while (frontier->link[number] != end) {
        uint32_t next = frontier->link[number];
        frontier->link[number] = end;
        number = next;
    }
    return end;
}

/* A present op in [first, end), nearest to the walk's start; TRACE_NO: none. */
static uint32_t find_in_range(struct frontier *frontier, size_t first, size_t end)
{
    if (first >= end)
        return TRACE_NO;
    uint32_t number = follow(frontier, frontier->backwards ? (uint32_t)end : (uint32_t)first + 1);
    return number >= first + 1 && number <= end ? number - 1 : TRACE_NO;
}

static uint32_t find_in_item(const struct frontier *frontier, const struct reach_segment *segment,
                             uint32_t item, uint32_t from, uint32_t to)
{
    for (uint32_t i = segment->item_begin[item]; i < segment->item_begin[item + 1]; i++) {
        uint32_t op = segment->item_ops[i];
        if (op >= from && op < to && frontier->present[op])
            return op;
    }
    return TRACE_NO;
}

/* Items that are not `op`'s own nor ordered on the wrong side of it. */
static uint32_t find_in_items(const struct frontier *frontier, uint32_t op)
{
    const struct check_partial_order *reach = frontier->reach;
    uint32_t number = reach->segment_of[op], item = reach->item_of[op];
    const struct reach_segment *segment = &reach->segments[number];
    int side = frontier->backwards ? REACH_AFTER : REACH_BEFORE;
    const uint64_t *left = frontier->items + frontier->items_begin[number];
    for (size_t p = 0; p < segment->pieces; p++, left += BIT_PIECE_WORDS) {
        const uint64_t *piece = reach_piece(reach, segment, side, item, p);
        for (size_t w = 0; w < BIT_PIECE_WORDS; w++) {
            uint64_t good = left[w] & ~piece[w];
            if (good)
                return find_in_item(frontier, segment,
                                    (uint32_t)(p * BIT_PIECE + w * 64) +
                                        (uint32_t)__builtin_ctzll(good),
                                    0, TRACE_NO);
        }
    }
    return TRACE_NO;
}

static uint32_t find_near(struct frontier *frontier, uint32_t op, size_t first, size_t end)
{
    const struct check_partial_order *reach = frontier->reach;
    const struct reach_segment *segment = &reach->segments[reach->segment_of[op]];
    if (!segment->item_count || reach->item_of[op] == TRACE_NO)
        return find_in_range(frontier, first, end);
    uint32_t own =
        find_in_item(frontier, segment, reach->item_of[op], (uint32_t)first, (uint32_t)end);
    return own != TRACE_NO ? own : find_in_items(frontier, op);
}

uint32_t frontier_find(struct frontier *frontier, uint32_t op)
{
    const struct check_partial_order *reach = frontier->reach;
    const struct trace *trace = reach->context->trace;
    const struct reach_segment *segment = &reach->segments[reach->segment_of[op]];
    uint32_t rank = trace->ops[op].rank, found;
    if (frontier->backwards) {
        found = find_near(frontier, op, segment->first, op);
        return found != TRACE_NO ? found
                                 : find_in_range(frontier, trace->rank_begin[rank], segment->first);
    }
    found = find_near(frontier, op, (size_t)op + 1, segment->end);
    return found != TRACE_NO ? found
                             : find_in_range(frontier, segment->end, trace->rank_begin[rank + 1]);
}
