/* Choices have numbers, sets of them are stamped, and sets of numbers hold what was put in: held against plain lists. */
#include "checker/explore/choice_table.h"
#include "checker/number_set.h"
#include "tests/dice.h"
#include "tests/tap.h"

#include <string.h>

enum { CHOICES = 3000, MEMBERS = 40, NUMBERS = 5000 };

/* All differ, and most in one field only. */
static struct explore_choice choice_at(uint32_t i)
{
    struct explore_choice choice = {
        .kind = 1, .rank = 2, .object = 3, .source = 4, .number = 5, .box = 6};
    uint32_t *const fields[] = {&choice.kind,   &choice.rank,   &choice.object,
                                &choice.source, &choice.number, &choice.box};
    *fields[i % 6] += 1 + i / 6;
    return choice;
}

static void numbers_choices(void)
{
    struct choice_table table = {0};
    unsigned wrong = 0, again_wrong = 0, kept_wrong = 0;
    for (uint32_t i = 0; i < CHOICES; i++) {
        struct explore_choice choice = choice_at(i), before = choice_at(i / 2);
        wrong += choice_table_number(&table, &choice) != i;
        again_wrong += choice_table_number(&table, &before) != i / 2;
    }
    for (uint32_t i = 0; i < CHOICES; i++) {
        struct explore_choice choice = choice_at(i);
        again_wrong += choice_table_number(&table, &choice) != i;
        kept_wrong += memcmp(&table.items[i], &choice, sizeof choice) != 0;
    }
    tap_is_int(wrong, 0, "choices are numbered as they come");
    tap_is_int(again_wrong, 0, "and keep their numbers, however many there are");
    tap_is_int(kept_wrong, 0, "by which they are found");
    tap_is_int(table.count, CHOICES, "none is there twice");
    choice_table_release(&table);
    tap_ok(!table.items && !table.count && !table.slot_count, "an emptied table is as new");
}

/* Of choices that are all new: half of the slots stay free, and half as many would be too few. */
static void keeps_half_free(void)
{
    struct choice_table table = {0};
    unsigned wrong = 0;
    for (uint32_t i = 0; i < CHOICES; i++) {
        struct explore_choice choice = choice_at(i);
        choice_table_number(&table, &choice);
        wrong += 2 * table.count > table.slot_count;
        wrong += table.slot_count > 256 && 2 * table.count <= table.slot_count / 2;
    }
    tap_is_int(wrong, 0, "half of the slots stay free, and not many more");
    choice_table_release(&table);
}

static void stamps_sets(void)
{
    struct choice_table table = {0};
    uint64_t state = 1, hashes[200];
    unsigned wrong = 0, order_matters = 0, alike = 0;
    for (uint32_t i = 0; i < MEMBERS; i++) {
        struct explore_choice choice = choice_at(i);
        choice_table_number(&table, &choice);
    }
    for (uint32_t set = 0; set < 200; set++) {
        bool in[MEMBERS] = {false};
        uint32_t members[MEMBERS], turned[MEMBERS];
        size_t count = 0;
        for (uint32_t i = 0; i < MEMBERS; i++)
            if (dice_below(&state, 2))
                in[members[count++] = i] = true;
        for (size_t i = 0; i < count; i++)
            turned[i] = members[count - 1 - i];
        hashes[set] = choice_table_stamp(&table, members, count);
        order_matters += choice_table_stamp(&table, turned, count) != hashes[set];
        for (uint32_t i = 0; i < MEMBERS; i++)
            wrong += choice_table_is_stamped(&table, i) != in[i];
        for (uint32_t other = 0; other < set; other++)
            alike += hashes[other] == hashes[set];
    }
    tap_is_int(wrong, 0, "the members of a set are those that were put in last");
    tap_is_int(order_matters, 0, "its hash does not ask for their order");
    tap_is_int(alike, 0, "other sets have other hashes");
    uint32_t member = 7;
    tap_ok(choice_table_stamp(&table, &member, 1) != choice_table_stamp(&table, &member, 0),
           "the empty one, too");
    choice_table_release(&table);
}

static void holds_numbers(void)
{
    struct number_set set = {0};
    uint64_t state = 3;
    int wrong = 0;
    tap_ok(!number_set_has(&set, 0) && !number_set_has(&set, 5), "a new set has no number");
    static uint64_t numbers[NUMBERS];
    for (uint32_t i = 0; i < NUMBERS; i++) { /* small ones, which lie close, and large ones */
        numbers[i] = i % 2 ? 2 + i : dice_next(&state);
        wrong += number_set_has(&set, numbers[i]) + !number_set_add(&set, numbers[i]) +
                 number_set_add(&set, numbers[i]);
        wrong += !number_set_has(&set, numbers[i]) + !number_set_has(&set, numbers[i / 2]);
    }
    for (uint32_t i = 0; i < NUMBERS; i++)
        wrong += !number_set_has(&set, numbers[i]) + number_set_has(&set, numbers[i] + NUMBERS + 2);
    tap_is_int(wrong, 0, "a number is in from when it was put in");
    tap_is_int(set.count, NUMBERS, "once");
    tap_ok(number_set_add(&set, 0) && number_set_has(&set, 1) && !number_set_add(&set, 1),
           "0 and 1 are one");
    number_set_release(&set);
    tap_ok(!number_set_has(&set, numbers[0]) && number_set_add(&set, numbers[0]),
           "an emptied set is as new");
    number_set_release(&set);
}

int main(void)
{
    numbers_choices();
    keeps_half_free();
    stamps_sets();
    holds_numbers();
    return tap_done();
}
