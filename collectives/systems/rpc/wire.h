/* Growing byte buffers: what messages are written into and read from. */
#ifndef COLLECTIVES_SYSTEMS_RPC_WIRE_H
#define COLLECTIVES_SYSTEMS_RPC_WIRE_H

#include <diff.h>
#include <stdint.h>

struct wire {
    unsigned char *data;
    size_t size, room, at;
    bool bad; /* something was read past the end */
};

void wire_clear(struct wire *wire);
void wire_release(struct wire *wire);
/* Room for `size` more bytes at the end, which the caller fills. */
void *wire_add(struct wire *wire, size_t size);
void wire_put(struct wire *wire, uint64_t value);
void wire_put_bytes(struct wire *wire, const void *bytes, size_t size);
void wire_put_text(struct wire *wire, const char *text);
void wire_put_tensor(struct wire *wire, const struct diff_tensor *x);
/* Reading past the end gives zeros and sets `bad`. */
uint64_t wire_get(struct wire *wire);
const void *wire_get_bytes(struct wire *wire, size_t *size);
const char *wire_get_text(struct wire *wire);
/* A tensor without history on `tape`. */
struct diff_tensor *wire_get_tensor(struct wire *wire, struct diff_tape *tape);

#endif
