/* Values on their way from rank 0 to its workers: the parameters in the order of registration, cut
 * into blocks of nearly the same size. */
#ifndef COLLECTIVES_SYSTEMS_SERVER_VALUES_H
#define COLLECTIVES_SYSTEMS_SERVER_VALUES_H

#include "collectives/systems/server/private.h"

enum values_kind { VALUES_BLOCK = 1, VALUES_FINAL };
struct values_head {
    uint64_t kind, version;
    uint64_t settled; /* gradients of the receiver that were applied or dropped */
    uint64_t block, blocks;
};

struct values_range {
    size_t begin, end;
};

/* How many blocks the options ask for: one for consistent reads, never more than values. */
size_t values_blocks(const struct server *server);
struct values_range values_block(const struct server *server, size_t block, size_t blocks);
/* Copies a range out of the parameters, or into them. */
void values_out(const struct server *server, struct values_range range, unsigned char *bytes);
void values_in(struct server *server, struct values_range range, const unsigned char *bytes);

#endif
