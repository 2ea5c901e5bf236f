/* Buffers of every kind of place and type, and what C says of them: see buffers.c. */
#ifndef TESTS_MACHINE_BUFFERS_H
#define TESTS_MACHINE_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>

enum buffer_kind { BUFFER_CHARACTERS, BUFFER_INTEGERS, BUFFER_FLOATING };

struct buffer {
    void *at;
    size_t size, count; /* of an element; elements from there on */
    enum buffer_kind kind;
    const char *place;
    bool pointed;      /* to: where it ends, a pointer does not say */
    const char *block; /* the variable's name, where it lives in a block within its function */
    bool next;         /* it is one element, and where it ends another variable begins, */
    bool next_is_two;  /* an array of two */
};

/* Called from the function whose variable it is. */
typedef void buffer_ask(const struct buffer *buffer);
typedef void *buffer_allocate(size_t size);

void buffers_show(buffer_ask *ask, buffer_allocate *allocate, int length);

#endif
