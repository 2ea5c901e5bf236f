/* mutant.h: which of the mutants compiled into this program is alive. Included in front of every
 * mutated source. */
#ifndef MUTANT_H
#define MUTANT_H

#include <stddef.h>

/* 0: none; the number in the environment variable MUTANT; -1: none, and what is reached is noted in
 * the file MUTANT_REACHED. */
extern int mutant;
int mutant_reached(int number);
/* Exchanges two rows of a table. */
void mutant_swap(void *one, void *other, size_t size);

static inline int mutant_lives(int number)
{
    return __builtin_expect(mutant == number || (mutant < 0 && mutant_reached(number)), 0);
}

#endif
