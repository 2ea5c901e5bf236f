/* Byte buffers: see wire.h. Everything is padded to 8 bytes. */
#include "collectives/systems/rpc/wire.h"

#include "collectives/tape/state.h"
#include "collectives/tape/tensor.h"

#include <stdlib.h>
#include <string.h>

enum { DIMS_MAX = 16 };

void wire_clear(struct wire *wire)
{
    wire->size = wire->at = 0;
    wire->bad = false;
}

void wire_release(struct wire *wire)
{
    free(wire->data);
    *wire = (struct wire){0};
}

static size_t padded(size_t size)
{
    return (size + 7) & ~(size_t)7;
}

void *wire_add(struct wire *wire, size_t size)
{
    size_t whole = padded(size);
    if (wire->size + whole > wire->room) {
        size_t room = wire->room ? wire->room * 2 : 256;
        while (room < wire->size + whole)
            room *= 2;
        unsigned char *data = realloc(wire->data, room);
        if (!data)
            state_fail(state_get(), "X002", "a remote call ran out of memory");
        wire->data = data;
        wire->room = room;
    }
    unsigned char *piece = wire->data + wire->size;
    if (whole > size)
        memset(piece + size, 0, whole - size);
    wire->size += whole;
    return piece;
}

void wire_put(struct wire *wire, uint64_t value)
{
    memcpy(wire_add(wire, sizeof value), &value, sizeof value);
}

void wire_put_bytes(struct wire *wire, const void *bytes, size_t size)
{
    wire_put(wire, size);
    void *piece = wire_add(wire, size);
    if (size)
        memcpy(piece, bytes, size);
}

void wire_put_text(struct wire *wire, const char *text)
{
    wire_put_bytes(wire, text, strlen(text) + 1);
}

void wire_put_tensor(struct wire *wire, const struct diff_tensor *x)
{
    wire_put(wire, (uint64_t)x->type);
    wire_put(wire, x->dims);
    for (size_t i = 0; i < x->dims; i++)
        wire_put(wire, x->shape[i]);
    wire_put_bytes(wire, x->storage->data, x->count * diff_type_size(x->type));
}

static const void *take(struct wire *wire, size_t size)
{
    if (size > wire->size - wire->at || padded(size) > wire->size - wire->at) {
        wire->bad = true;
        wire->at = wire->size;
        return NULL;
    }
    const void *piece = wire->data + wire->at;
    wire->at += padded(size);
    return piece;
}

uint64_t wire_get(struct wire *wire)
{
    uint64_t value = 0;
    const void *piece = take(wire, sizeof value);
    if (piece)
        memcpy(&value, piece, sizeof value);
    return value;
}

const void *wire_get_bytes(struct wire *wire, size_t *size)
{
    *size = (size_t)wire_get(wire);
    const void *piece = take(wire, *size);
    if (!piece)
        *size = 0;
    return piece;
}

const char *wire_get_text(struct wire *wire)
{
    size_t size;
    const char *text = wire_get_bytes(wire, &size);
    if (!size || text[size - 1] != 0)
        wire->bad = true;
    return wire->bad ? "" : text;
}

struct diff_tensor *wire_get_tensor(struct wire *wire, struct diff_tape *tape)
{
    size_t shape[DIMS_MAX], size;
    uint64_t type = wire_get(wire), dims = wire_get(wire);
    if (type >= DIFF_HANDLE || dims > DIMS_MAX)
        wire->bad = true;
    for (uint64_t i = 0; i < dims && !wire->bad; i++)
        shape[i] = (size_t)wire_get(wire);
    const void *values = wire_get_bytes(wire, &size);
    if (wire->bad)
        state_fail(state_get(), "M007", "a remote call arrived damaged");
    struct diff_tensor *x = tensor_new(tape, (enum diff_type)type, (size_t)dims, shape);
    if (x->count * diff_type_size(x->type) != size)
        state_fail(state_get(), "M007", "a remote call arrived damaged");
    if (size)
        memcpy(x->storage->data, values, size);
    return x;
}
