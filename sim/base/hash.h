/* A 128-bit hash of bytes, for names of cached files. Not for protection against malice. */
#ifndef SIM_BASE_HASH_H
#define SIM_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash {
    uint64_t high, low;
};

enum { HASH_TEXT = 33 }; /* 32 digits and the end */

void hash_init(struct hash *hash);
/* Adds bytes; the length counts too, so that ("ab", "c") and ("a", "bc") differ. */
void hash_add(struct hash *hash, const void *bytes, size_t size);
void hash_add_text(struct hash *hash, const char *text);
/* Adds a file's content. -1 with errno when it cannot be read. */
int hash_add_file(struct hash *hash, const char *path);
void hash_text(const struct hash *hash, char out[HASH_TEXT]);

#endif
