/* Numbers for the choices of an exploration, and sets of choices.
 *
 * Equal choices have one number, counted from 0 as they come. A set of choices is stamped, one at a
 * time: its members are told apart from the rest without a search, and its hash does not depend on
 * their order. A table starts zeroed. */
#ifndef CHECKER_EXPLORE_CHOICE_TABLE_H
#define CHECKER_EXPLORE_CHOICE_TABLE_H

#include "checker/explore/choice.h"

#include <stdbool.h>
#include <stddef.h>

struct choice_table {
    struct explore_choice *items;
    uint32_t *stamps; /* per item: the set it was last put into */
    size_t count, room, stamp_room;
    uint32_t *slots; /* by hash: number + 1; half of them stay free, and not many more */
    size_t slot_count;
    uint32_t stamp;
};

uint32_t choice_table_number(struct choice_table *table, const struct explore_choice *choice);
/* Makes these the members of the current set; returns its hash. */
uint64_t choice_table_stamp(struct choice_table *table, const uint32_t *choices, size_t count);
bool choice_table_is_stamped(const struct choice_table *table, uint32_t choice);
void choice_table_release(struct choice_table *table);

#endif
