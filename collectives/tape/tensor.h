/* Tensors: values of four types with a shape, owned by a tape.
 *
 * Rules:
 *  1. `storage` outlives the tensor; several tensors may share it (reshape, in-place results).
 *  2. Whoever changes values that others may have seen raises storage->version.
 *  3. A handle (DIFF_HANDLE) has no values and a request instead. */
#ifndef COLLECTIVES_TAPE_TENSOR_H
#define COLLECTIVES_TAPE_TENSOR_H

#include <complex.h>
#include <diff.h>
#include <stdint.h>

struct diff_request;
struct diff_node;

struct diff_storage {
    void *data;
    uint32_t version;
};

struct diff_tensor {
    struct diff_tape *tape;
    struct diff_node *arrival; /* a received tensor: the receive */
    struct diff_node *node;    /* its origin; NULL for inputs and constants */
    struct diff_storage *storage;
    struct diff_storage own;
    struct diff_request *request; /* handles */
    size_t count, dims;
    const size_t *shape;
    enum diff_type type;
    uint32_t output; /* which output of its node */
    bool requires_gradient;
    bool retains_gradient;         /* inputs, and what diff_retain_gradient names */
    bool exclusive;                /* a sum made by the engine, which may add to it in place */
    bool used;                     /* handles: waited for or joined */
    struct diff_tensor *cotangent; /* during a backward pass */
    struct diff_tensor *gradient;  /* accumulated over passes */
    uint64_t first_pass;           /* since this backward call; 0: since the first */
    struct diff_tensor *tangent;   /* of the last diff_jvp */
    uint64_t tangent_pass;         /* which one that was */
    struct diff_tensor *next_retained;
    size_t input; /* its number among the probe's inputs, SIZE_MAX for none */
};

size_t diff_type_size(enum diff_type type);
const char *diff_type_name(enum diff_type type);
MPI_Datatype diff_type_mpi(enum diff_type type);
/* The type of the real parts. */
enum diff_type diff_type_real(enum diff_type type);
bool diff_type_is_complex(enum diff_type type);
bool diff_type_is_single(enum diff_type type);
/* Real numbers per value: 1 or 2. */
size_t diff_type_parts(enum diff_type type);

/* A tensor without origin; its values are undefined unless the name says otherwise. */
struct diff_tensor *tensor_new(struct diff_tape *tape, enum diff_type type, size_t dims,
                               const size_t *shape);
struct diff_tensor *tensor_new_flat(struct diff_tape *tape, enum diff_type type, size_t count);
struct diff_tensor *tensor_new_like(const struct diff_tensor *x);
struct diff_tensor *tensor_zeros_like(const struct diff_tensor *x);
/* What a receive of a cotangent writes over: zeros. Outside of a recorded pass they are not written
 * down (no values at all), since only message_tail_keep looks at them. */
struct diff_tensor *tensor_room_like(const struct diff_tensor *x);
/* Shares the values of `x` under another shape. */
struct diff_tensor *tensor_view(const struct diff_tensor *x, size_t dims, const size_t *shape);
/* The values of `x` from `begin` on, which a new tensor takes over: `x` keeps a copy of what it
 * held, and whoever else shares its storage finds the version changed. */
struct diff_tensor *tensor_take_over(struct diff_tensor *x, size_t begin, size_t count);
struct diff_tensor *tensor_handle(struct diff_tape *tape, struct diff_request *request);
bool tensor_same_shape(const struct diff_tensor *a, const struct diff_tensor *b);
/* Part `i` (see diff_type_parts) of the values as double. */
double tensor_part(const struct diff_tensor *x, size_t i);
void tensor_part_set(struct diff_tensor *x, size_t i, double value);
/* sum += other, in place, both of one type and count. */
void tensor_accumulate(struct diff_tensor *sum, const struct diff_tensor *other);
/* False as soon as one value is not finite; `where` gets its index. */
bool tensor_finite(const struct diff_tensor *x, size_t *where);

/* Runs the statements with T as the C type of `type`. */
#define TYPE_SWITCH(type, ...)                                                                     \
    switch (type) {                                                                                \
    case DIFF_FLOAT: {                                                                             \
        typedef float T;                                                                           \
        __VA_ARGS__                                                                                \
    } break;                                                                                       \
    case DIFF_DOUBLE: {                                                                            \
        typedef double T;                                                                          \
        __VA_ARGS__                                                                                \
    } break;                                                                                       \
    case DIFF_COMPLEX_FLOAT: {                                                                     \
        typedef float complex T;                                                                   \
        __VA_ARGS__                                                                                \
    } break;                                                                                       \
    case DIFF_COMPLEX_DOUBLE: {                                                                    \
        typedef double complex T;                                                                  \
        __VA_ARGS__                                                                                \
    } break;                                                                                       \
    case DIFF_HANDLE:                                                                              \
        break;                                                                                     \
    }
/* The same for the two real types only. */
#define REAL_SWITCH(type, ...)                                                                     \
    if ((type) == DIFF_FLOAT) {                                                                    \
        typedef float T;                                                                           \
        __VA_ARGS__                                                                                \
    } else {                                                                                       \
        typedef double T;                                                                          \
        __VA_ARGS__                                                                                \
    }

#endif
