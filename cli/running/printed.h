/* What the ranks of an explored world print: a number that says whether it is the same, and the
 * beginning as text. Worlds run side by side in one process, so each rank finds its own through its
 * slots. */
#ifndef CLI_RUNNING_PRINTED_H
#define CLI_RUNNING_PRINTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PRINTED_TEXT = 480 };

/* What came so far as a number. Nothing orders the lines of a rank's threads: where another thread
 * than the rank's own has printed, the number is the same for every order of the lines. */
struct print_hash {
    uint64_t bytes, lines, line; /* of all; of all finished lines in any order; of the last */
    uint8_t mixed;               /* lies in shared memory: any byte */
};
void print_hash_add(struct print_hash *hash, const char *text, size_t size);
uint64_t print_hash_value(const struct print_hash *hash);

/* Of one rank. */
struct printed {
    struct print_hash hash;
    uint32_t size; /* of the text */
    bool more;     /* than the text */
    char text[PRINTED_TEXT];
};

/* From now on what ranks of this process write to stdout and stderr goes to the array of `struct
 * printed`, one per rank, in their MPIX_SLOT_PRINTED; without one it goes nowhere. False: out of
 * memory. */
bool printed_install(void);
/* All ranks' lines, each behind its rank; NULL where nobody printed. The caller frees it. */
char *printed_text(const struct printed *ranks, int count);
/* From the first line in which the texts (may be NULL) differ, a few lines of `text`, indented. */
void printed_show_difference(const char *text, const char *other);

#endif
