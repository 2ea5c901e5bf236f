#include "checker/explore/choice_table.h"

#include "checker/explore/guided_run.h"
#include "checker/memory.h"

#include <stdlib.h>

static uint64_t mix(uint64_t hash)
{
    hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 31;
}

static uint64_t hash_choice(const struct explore_choice *choice)
{
    uint64_t hash = mix(choice->kind + UINT64_C(0x9e3779b97f4a7c15) * (choice->rank + 1));
    hash = mix(hash ^ ((uint64_t)choice->object << 32 | choice->source));
    return mix(hash ^ ((uint64_t)choice->number << 32 | choice->box));
}

static void grow_table(struct choice_table *table)
{
    size_t slots = table->slot_count ? table->slot_count * 2 : 256;
    free(table->slots);
    table->slots = check_new(slots, sizeof *table->slots);
    table->slot_count = slots;
    for (size_t i = 0; i < table->count; i++) {
        size_t at = hash_choice(&table->items[i]) & (slots - 1);
        while (table->slots[at])
            at = (at + 1) & (slots - 1);
        table->slots[at] = (uint32_t)i + 1;
    }
}

uint32_t choice_table_number(struct choice_table *table, const struct explore_choice *choice)
{
    if (2 * (table->count + 1) > table->slot_count)
        grow_table(table);
    size_t at = hash_choice(choice) & (table->slot_count - 1);
    while (table->slots[at] && !explore_choice_same(&table->items[table->slots[at] - 1], choice))
        at = (at + 1) & (table->slot_count - 1);
    if (!table->slots[at]) {
        table->items =
            check_grow(table->items, &table->room, table->count + 1, sizeof *table->items);
        table->stamps =
            check_grow(table->stamps, &table->stamp_room, table->count + 1, sizeof *table->stamps);
        table->stamps[table->count] = 0;
        table->items[table->count++] = *choice;
        table->slots[at] = (uint32_t)table->count;
    }
    return table->slots[at] - 1;
}

uint64_t choice_table_stamp(struct choice_table *table, const uint32_t *choices, size_t count)
{
    uint64_t hash = count;
    table->stamp++;
    for (size_t i = 0; i < count; i++) {
        table->stamps[choices[i]] = table->stamp;
        hash += mix(choices[i] + UINT64_C(0x9e3779b97f4a7c15));
    }
    return mix(hash);
}

bool choice_table_is_stamped(const struct choice_table *table, uint32_t choice)
{
    return table->stamps[choice] == table->stamp;
}

void choice_table_release(struct choice_table *table)
{
    free(table->items);
    free(table->stamps);
    free(table->slots);
    *table = (struct choice_table){0};
}
