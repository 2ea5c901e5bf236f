#include "checker/number_set.h"

#include "checker/memory.h"

#include <stdlib.h>

static size_t place_of(const struct number_set *set, uint64_t number)
{
    size_t at = number * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (set->room - 1);
    while (set->slots[at] && set->slots[at] != number)
        at = (at + 1) & (set->room - 1);
    return at;
}

static void grow_set(struct number_set *set)
{
    struct number_set old = *set;
    set->room = old.room ? old.room * 2 : 64;
    set->slots = check_new(set->room, sizeof *set->slots);
    for (size_t i = 0; i < old.room; i++)
        if (old.slots[i])
            set->slots[place_of(set, old.slots[i])] = old.slots[i];
    free(old.slots);
}

bool number_set_add(struct number_set *set, uint64_t number)
{
    number += number == 0; /* 0 marks a free slot */
    if (2 * (set->count + 1) > set->room)
        grow_set(set);
    size_t at = place_of(set, number);
    bool fresh = set->slots[at] == 0;
    set->slots[at] = number;
    set->count += fresh;
    return fresh;
}

bool number_set_has(const struct number_set *set, uint64_t number)
{
    return set->room && set->slots[place_of(set, number + (number == 0))];
}

void number_set_release(struct number_set *set)
{
    free(set->slots);
    *set = (struct number_set){0};
}
