/* Tensors: see tensor.h. */
#include "collectives/tape/tensor.h"

#include "collectives/tape/node.h"
#include "collectives/tape/state.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size, parts;
    enum diff_type real;
} types[] = {
    [DIFF_FLOAT] = {"float", sizeof(float), 1, DIFF_FLOAT},
    [DIFF_DOUBLE] = {"double", sizeof(double), 1, DIFF_DOUBLE},
    [DIFF_COMPLEX_FLOAT] = {"complex float", sizeof(float complex), 2, DIFF_FLOAT},
    [DIFF_COMPLEX_DOUBLE] = {"complex double", sizeof(double complex), 2, DIFF_DOUBLE},
    [DIFF_HANDLE] = {"handle", 0, 0, DIFF_HANDLE},
};

size_t diff_type_size(enum diff_type type)
{
    return types[type].size;
}

const char *diff_type_name(enum diff_type type)
{
    return types[type].name;
}

enum diff_type diff_type_real(enum diff_type type)
{
    return types[type].real;
}

size_t diff_type_parts(enum diff_type type)
{
    return types[type].parts;
}

bool diff_type_is_complex(enum diff_type type)
{
    return types[type].parts == 2;
}

bool diff_type_is_single(enum diff_type type)
{
    return types[type].real == DIFF_FLOAT;
}

MPI_Datatype diff_type_mpi(enum diff_type type)
{
    switch (type) {
    case DIFF_FLOAT:
        return MPI_FLOAT;
    case DIFF_DOUBLE:
        return MPI_DOUBLE;
    case DIFF_COMPLEX_FLOAT:
        return MPI_C_FLOAT_COMPLEX;
    case DIFF_COMPLEX_DOUBLE:
        return MPI_C_DOUBLE_COMPLEX;
    case DIFF_HANDLE:
        break;
    }
    return MPI_DATATYPE_NULL;
}

/* Small values stand behind the tensor, in the same piece of memory. */
enum { SMALL_BYTES = 512 };

static size_t head_size(size_t dims)
{
    size_t size = sizeof(struct diff_tensor) + dims * sizeof(size_t);
    return (size + 15) & ~(size_t)15;
}

/* With room for `bytes` of values behind it, at head_size(dims). */
static struct diff_tensor *tensor_bare_with(struct diff_tape *tape, enum diff_type type,
                                            size_t dims, const size_t *shape, size_t bytes)
{
    struct diff_tensor *tensor = arena_take(&tape->arena, head_size(dims) + bytes);
    size_t *own_shape = (size_t *)(tensor + 1);
    *tensor = (struct diff_tensor){.tape = tape,
                                   .type = type,
                                   .dims = dims,
                                   .shape = own_shape,
                                   .count = 1,
                                   .input = SIZE_MAX};
    tensor->storage = &tensor->own;
    for (size_t i = 0; i < dims; i++) {
        own_shape[i] = shape[i];
        tensor->count *= shape[i];
    }
    return tensor;
}

static struct diff_tensor *tensor_bare(struct diff_tape *tape, enum diff_type type, size_t dims,
                                       const size_t *shape)
{
    return tensor_bare_with(tape, type, dims, shape, 0);
}

struct diff_tensor *tensor_new(struct diff_tape *tape, enum diff_type type, size_t dims,
                               const size_t *shape)
{
    size_t bytes = types[type].size;
    for (size_t i = 0; i < dims; i++)
        bytes *= shape[i];
    bool small = bytes <= SMALL_BYTES;
    struct diff_tensor *tensor = tensor_bare_with(tape, type, dims, shape, small ? bytes : 0);
    tensor->own.data = small ? (char *)tensor + head_size(dims) : arena_take(&tape->arena, bytes);
    return tensor;
}

struct diff_tensor *tensor_new_flat(struct diff_tape *tape, enum diff_type type, size_t count)
{
    return tensor_new(tape, type, 1, &count);
}

struct diff_tensor *tensor_new_like(const struct diff_tensor *x)
{
    return tensor_new(x->tape, x->type, x->dims, x->shape);
}

struct diff_tensor *tensor_zeros_like(const struct diff_tensor *x)
{
    struct diff_tensor *zeros = tensor_new_like(x);
    memset(zeros->storage->data, 0, zeros->count * types[x->type].size);
    return zeros;
}

struct diff_tensor *tensor_room_like(const struct diff_tensor *x)
{
    if (x->tape->state->no_grad == 0)
        return tensor_zeros_like(x);
    return tensor_bare(x->tape, x->type, x->dims, x->shape);
}

struct diff_tensor *tensor_view(const struct diff_tensor *x, size_t dims, const size_t *shape)
{
    struct diff_tensor *view = tensor_bare(x->tape, x->type, dims, shape);
    assert(view->count == x->count);
    view->storage = x->storage;
    view->request = x->request;
    return view;
}

struct diff_tensor *tensor_take_over(struct diff_tensor *x, size_t begin, size_t count)
{
    struct arena *arena = &x->tape->arena;
    size_t size = types[x->type].size;
    struct diff_tensor *y = tensor_bare(x->tape, x->type, 1, &count);
    struct diff_storage *kept = arena_take(arena, sizeof *kept);
    *kept = (struct diff_storage){arena_take(arena, x->count * size), x->storage->version};
    memcpy(kept->data, x->storage->data, x->count * size);
    y->own.data = (char *)x->storage->data + begin * size;
    x->storage->version++;
    x->storage = kept;
    return y;
}

struct diff_tensor *tensor_handle(struct diff_tape *tape, struct diff_request *request)
{
    struct diff_tensor *handle = tensor_bare(tape, DIFF_HANDLE, 1, (size_t[]){0});
    handle->request = request;
    return handle;
}

bool tensor_same_shape(const struct diff_tensor *a, const struct diff_tensor *b)
{
    if (a->dims != b->dims)
        return false;
    for (size_t i = 0; i < a->dims; i++)
        if (a->shape[i] != b->shape[i])
            return false;
    return true;
}

double tensor_part(const struct diff_tensor *x, size_t i)
{
    return diff_type_is_single(x->type) ? (double)((const float *)x->storage->data)[i]
                                        : ((const double *)x->storage->data)[i];
}

void tensor_part_set(struct diff_tensor *x, size_t i, double value)
{
    if (diff_type_is_single(x->type))
        ((float *)x->storage->data)[i] = (float)value;
    else
        ((double *)x->storage->data)[i] = value;
}

void tensor_accumulate(struct diff_tensor *sum, const struct diff_tensor *other)
{
    assert(sum->type == other->type && sum->count == other->count);
    size_t parts = sum->count * diff_type_parts(sum->type);
    REAL_SWITCH(diff_type_real(sum->type), {
        T *to = sum->storage->data;
        const T *from = other->storage->data;
        for (size_t i = 0; i < parts; i++)
            to[i] += from[i];
    })
}

bool tensor_finite(const struct diff_tensor *x, size_t *where)
{
    size_t parts = x->count * diff_type_parts(x->type);
    for (size_t i = 0; i < parts; i++)
        if (!isfinite(tensor_part(x, i))) {
            *where = i / diff_type_parts(x->type);
            return false;
        }
    return true;
}

/* ---- public accessors ---- */

static void needs_values(const struct diff_tensor *x, const char *what)
{
    if (x->type == DIFF_HANDLE)
        state_fail(x->tape->state, "M009", "%s of a handle: wait for it first", what);
}

const void *diff_values(const struct diff_tensor *x)
{
    needs_values(x, "the values");
    return x->storage->data;
}

void *diff_values_modify(struct diff_tensor *x)
{
    needs_values(x, "the values");
    x->storage->version++;
    return x->storage->data;
}

size_t diff_count(const struct diff_tensor *x)
{
    return x->count;
}

enum diff_type diff_type_of(const struct diff_tensor *x)
{
    return x->type;
}

bool diff_requires_gradient(const struct diff_tensor *x)
{
    return x->requires_gradient;
}

double diff_scalar(const struct diff_tensor *x)
{
    needs_values(x, "the value");
    if (x->count == 0)
        state_fail(x->tape->state, "M009", "the value of an empty tensor");
    return tensor_part(x, 0);
}
