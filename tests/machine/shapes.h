/* What C itself says of variables and types of shapes.c: by offsetof, sizeof, _Generic and addresses. */
#ifndef TESTS_MACHINE_SHAPES_H
#define TESTS_MACHINE_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Elements: more of its dimensions are the run's than are looked at. */
#define SHAPE_UNKNOWN SIZE_MAX

enum shape_kind { SHAPE_OPAQUE, SHAPE_INTEGER, SHAPE_FLOATING };

/* A member, or an array of numbers. */
struct shape_row {
    size_t offset, size, count;
    enum shape_kind kind;
    const char *name,
        *points; /* to a type of this name; NULL: not asked; "": to nothing that has a size */
};

/* A variable. */
struct shape {
    const char *name;
    const void *address; /* NULL: its name tells it */
    size_t size, count;  /* of an element; of a pointer that of what it points to, and 0 */
    bool pointer;
    const char *type; /* NULL: it points to void */
    const struct shape_row *rows;
    int row_count;  /* -1: its type is not taken apart */
    size_t tail_at; /* 0: it does not end with an open array */
};

/* A local variable, or a parameter. */
struct shape_local {
    const char *name;
    const void *address; /* NULL: not known */
    size_t count;        /* 0: a pointer */
    int level;
    bool inner; /* of a block within its function */
    bool open;  /* an array whose length the run tells */
};

/* Told in a call from the function whose frame this is. */
typedef void shape_look(void *frame_address, const struct shape_local *locals, int count,
                        int levels);

extern const struct shape shapes[];
extern const int shape_count;
void shape_frames(shape_look *look, int length);
/* Of a function that was optimised: parameter `length` is in registers alone. */
void shape_still(shape_look *look, int length);

/* Bytes that have a bit of the bit fields of `shape_bits`. */
void shape_bits_used(bool used[], size_t size);

#ifdef __cplusplus
}
#endif

#endif
