/* A set of 64-bit numbers that are hashes already: 0 and 1 are one member. Starts zeroed. */
#ifndef CHECKER_NUMBER_SET_H
#define CHECKER_NUMBER_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct number_set {
    uint64_t *slots;
    size_t room, count;
};

/* False: it was in. */
bool number_set_add(struct number_set *set, uint64_t number);
bool number_set_has(const struct number_set *set, uint64_t number);
void number_set_release(struct number_set *set);

#endif
