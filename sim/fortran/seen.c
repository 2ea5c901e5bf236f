/* What gfortran's library reads and writes of a program's memory, told to simrun: input and output of variables and arrays, and copies of
 * sections that a call wants in one piece. In instrumented programs its calls come here first (--wrap, sim/compile/wrapped.def), and go on
 * to the library of the rank. Other functions of that library are named as not seen (sim/compile/unseen.c). */
#include "sim/fortran/fortran.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* An array as gfortran hands it over, since its version 9. */
struct array {
    char *base;
    size_t offset, element;
    int version;
    signed char rank, type;
    short attribute;
    ptrdiff_t span;
    struct {
        ptrdiff_t stride, low, high;
    } dimensions[15];
};

static void touch(const void *address, ssize_t size, bool write, const void *site)
{
    if (tell_range && address && size > 0)
        tell_range(address, (size_t)size, write, site);
}

/* The elements of the dimensions below `from`, those that lie side by side at once. */
static void touch_part(const struct array *array, int from, const char *at, bool write,
                       const void *site)
{
    ptrdiff_t element = (ptrdiff_t)array->element;
    if (from == 0) {
        touch(at, element, write, site);
        return;
    }
    ptrdiff_t count = array->dimensions[from - 1].high - array->dimensions[from - 1].low + 1;
    ptrdiff_t step = array->dimensions[from - 1].stride * element;
    if (from == 1 && step == element) {
        touch(at, count * element, write, site);
        return;
    }
    for (ptrdiff_t i = 0; i < count; i++)
        touch_part(array, from - 1, at + i * step, write, site);
}

/* How many of the leading dimensions lie in one piece. */
static void touch_array(const struct array *array, ssize_t element, bool write, const void *site)
{
    struct array own = {.base = array->base,
                        .element = element > 0 ? (size_t)element : array->element,
                        .rank = array->rank};
    ptrdiff_t together = 1;
    int first = 0;
    if (!tell_range || !array->base || array->rank < 0 || array->rank > 15)
        return;
    for (int i = 0; i < array->rank; i++)
        if (array->dimensions[i].high < array->dimensions[i].low)
            return;
    for (; first < array->rank && array->dimensions[first].stride == together; first++)
        together *= array->dimensions[first].high - array->dimensions[first].low + 1;
    own.rank = 0;
    if (first > 0) {
        own.dimensions[own.rank].stride = 1;
        own.dimensions[own.rank++].high = together - 1;
    }
    for (int i = first; i < array->rank; i++)
        own.dimensions[own.rank++] = array->dimensions[i];
    touch_part(&own, own.rank, own.base, write, site);
}

#define CALLER __builtin_return_address(0)

/* A complex variable of this kind is two numbers; one of 16 digits' kind (10) takes 16 bytes. */
static ssize_t bytes_of(int kind)
{
    return kind == 10 ? 16 : kind;
}

#define SCALAR(name, size, write)                                                                  \
    void _gfortran_transfer_##name(void *transfer, void *variable, int kind)                       \
        __attribute__((weak));                                                                     \
    void __wrap__gfortran_transfer_##name(void *transfer, void *variable, int kind);               \
    void __wrap__gfortran_transfer_##name(void *transfer, void *variable, int kind)                \
    {                                                                                              \
        touch(variable, size, write, CALLER);                                                      \
        _gfortran_transfer_##name(transfer, variable, kind);                                       \
    }
#define BOTH_WAYS(name, size)                                                                      \
    SCALAR(name, size, true)                                                                       \
    SCALAR(name##_write, size, false)
BOTH_WAYS(integer, kind)
BOTH_WAYS(logical, kind)
BOTH_WAYS(real, bytes_of(kind))
BOTH_WAYS(complex, 2 * bytes_of(kind))

#define TEXT(name, write)                                                                          \
    void _gfortran_transfer_##name(void *transfer, void *text, ssize_t length)                     \
        __attribute__((weak));                                                                     \
    void __wrap__gfortran_transfer_##name(void *transfer, void *text, ssize_t length);             \
    void __wrap__gfortran_transfer_##name(void *transfer, void *text, ssize_t length)              \
    {                                                                                              \
        touch(text, length, write, CALLER);                                                        \
        _gfortran_transfer_##name(transfer, text, length);                                         \
    }
TEXT(character, true)
TEXT(character_write, false)

#define ARRAY(name, write)                                                                         \
    void _gfortran_transfer_##name(void *transfer, struct array *array, int kind, ssize_t length)  \
        __attribute__((weak));                                                                     \
    void __wrap__gfortran_transfer_##name(void *transfer, struct array *array, int kind,           \
                                          ssize_t length);                                         \
    void __wrap__gfortran_transfer_##name(void *transfer, struct array *array, int kind,           \
                                          ssize_t length)                                          \
    {                                                                                              \
        touch_array(array, 0, write, CALLER);                                                      \
        _gfortran_transfer_##name(transfer, array, kind, length);                                  \
    }
ARRAY(array, true)
ARRAY(array_write, false)

/* A section in one piece: a copy, unless it is one already. */
void *_gfortran_internal_pack(struct array *array) __attribute__((weak));
void *__wrap__gfortran_internal_pack(struct array *array);
void *__wrap__gfortran_internal_pack(struct array *array)
{
    void *packed = _gfortran_internal_pack(array);
    if (packed != array->base)
        touch_array(array, 0, false, CALLER);
    return packed;
}

void _gfortran_internal_unpack(struct array *array, const void *packed) __attribute__((weak));
void __wrap__gfortran_internal_unpack(struct array *array, const void *packed);
void __wrap__gfortran_internal_unpack(struct array *array, const void *packed)
{
    if (packed != array->base && packed)
        touch_array(array, 0, true, CALLER);
    _gfortran_internal_unpack(array, packed);
}
