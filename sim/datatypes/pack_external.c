/* pack_external.c: MPI_Pack_external and its kin: the representation "external32".
 *
 * Big-endian, without gaps; long has four bytes, a wide character two, long double is IEEE's
 * binary128. Everything else has the size it has in memory. Bytes are converted on their way
 * between the packed form of this machine and the external one, so layouts are not looked at here.
 */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "sim/datatypes/packed.h"
#include "sim/worlds/error.h"
#include "sim/worlds/rank.h"

#if defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 quad;
#else
typedef long double quad;
#endif

/* Bytes of a long double that mean something; the rest is padding. */
enum { LONG_DOUBLE_BYTES = LDBL_MANT_DIG == 64 ? 10 : sizeof(long double) };

enum { NUMBER_LONG = 0x20a, NUMBER_UNSIGNED_LONG = 0x20e, NUMBER_WCHAR = 0x23c };

static uint16_t number_of(const struct sim_datatype *basic)
{
    return basic->basic;
}

static bool is_complex(const struct sim_datatype *basic)
{
    return basic->group == SIM_CLASS_COMPLEX;
}

/* Bytes of one basic element outside. */
static size_t external_size(const struct sim_datatype *basic)
{
    switch (number_of(basic)) {
    case NUMBER_LONG:
    case NUMBER_UNSIGNED_LONG:
        return 4;
    case NUMBER_WCHAR:
        return 2;
    default:
        return basic->size;
    }
}

/* ---- One number ---- */

static void put_big_endian(unsigned char *to, const void *from, size_t from_size, size_t to_size)
{
    const unsigned char *bytes = from;
    for (size_t i = 0; i < to_size; i++)
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        to[to_size - 1 - i] = bytes[i];
    (void)from_size;
#else
        to[i] = bytes[from_size - to_size + i];
#endif
}

/* Extends the sign when the number grows. */
static void get_big_endian(void *to, const unsigned char *from, size_t to_size, size_t from_size,
                           bool is_signed)
{
    unsigned char *bytes = to;
    unsigned char fill = is_signed && from[0] & 0x80 ? 0xff : 0;
    for (size_t i = 0; i < to_size; i++) {
        unsigned char byte = i < from_size ? from[from_size - 1 - i] : fill;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        bytes[i] = byte;
#else
        bytes[to_size - 1 - i] = byte;
#endif
    }
}

static void put_number(unsigned char *to, const char *from, const struct sim_datatype *basic,
                       size_t size, size_t outside)
{
    if (basic->kind == SIM_KIND_LONG_DOUBLE || basic->kind == SIM_KIND_COMPLEX_LONG_DOUBLE) {
        long double number;
        memcpy(&number, from, sizeof number);
        quad wide = number;
        put_big_endian(to, &wide, sizeof wide, sizeof wide);
    } else
        put_big_endian(to, from, size, outside);
}

static void get_number(char *to, const unsigned char *from, const struct sim_datatype *basic,
                       size_t size, size_t outside)
{
    if (basic->kind == SIM_KIND_LONG_DOUBLE || basic->kind == SIM_KIND_COMPLEX_LONG_DOUBLE) {
        quad wide;
        get_big_endian(&wide, from, sizeof wide, sizeof wide, false);
        long double number = (long double)wide;
        memset(to, 0, size);
        memcpy(to, &number, LONG_DOUBLE_BYTES);
    } else
        get_big_endian(to, from, size, outside, number_of(basic) == NUMBER_LONG);
}

/* ---- Sequences ---- */

struct conversion {
    char *native;
    unsigned char *external;
    bool out;
};

static void convert(void *context, const struct sim_datatype *basic, size_t count)
{
    struct conversion *at = context;
    size_t parts = is_complex(basic) ? 2 : 1;
    size_t size = basic->size / parts, outside = external_size(basic) / parts;
    for (size_t i = 0; i < count * parts; i++) {
        if (at->out)
            put_number(at->external, at->native, basic, size, outside);
        else
            get_number(at->native, at->external, basic, size, outside);
        at->native += size;
        at->external += outside;
    }
}

static void add_size(void *context, const struct sim_datatype *basic, size_t count)
{
    *(size_t *)context += count * external_size(basic);
}

/* ---- Calls ---- */

struct external_call {
    const char *function;
    const char *datarep;
    MPI_Count count;
    MPI_Datatype datatype;
    MPI_Count room, position;
    size_t bytes; /* outside; found by the check */
};

#define raise(function, error_class, ...)                                                          \
    sim_error_raise(MPI_COMM_NULL, error_class, function, __VA_ARGS__)

static int check_type(struct external_call *call)
{
    const struct sim_datatype *type = sim_datatype_get(call->datatype);
    if (!call->datarep || strcmp(call->datarep, "external32") != 0)
        return raise(call->function, MPI_ERR_ARG, "the only data representation is external32");
    if (call->count < 0)
        return raise(call->function, MPI_ERR_COUNT, "count is negative: %lld",
                     (long long)call->count);
    if (!type)
        return raise(call->function, MPI_ERR_TYPE, "datatype is not a valid datatype");
    size_t one = 0;
    sim_datatype_visit(type, 1, add_size, &one);
    if (__builtin_mul_overflow(one, (size_t)call->count, &call->bytes) || call->bytes > PTRDIFF_MAX)
        return raise(call->function, MPI_ERR_COUNT, "more elements than memory can hold");
    return MPI_SUCCESS;
}

static int check(struct external_call *call, const void *external)
{
    int error = check_type(call);
    if (error)
        return error;
    if (!sim_datatype_get(call->datatype)->committed)
        return raise(call->function, MPI_ERR_TYPE, "datatype is not committed");
    if (call->position < 0 || call->position > call->room)
        return raise(call->function, MPI_ERR_ARG, "position %lld is not within %lld bytes",
                     (long long)call->position, (long long)call->room);
    if (call->bytes > (size_t)(call->room - call->position))
        return raise(call->function, MPI_ERR_TRUNCATE,
                     "%zu bytes from position %lld on exceed the buffer's %lld", call->bytes,
                     (long long)call->position, (long long)call->room);
    if (call->bytes && !external)
        return raise(call->function, MPI_ERR_BUFFER, "the packed buffer is a null pointer");
    return MPI_SUCCESS;
}

static int pack(struct external_call *call, const void *inbuf, void *outbuf, const void *site)
{
    int error = check(call, outbuf);
    if (error || call->bytes == 0)
        return error;
    sim_packed_uses(&(struct sim_packed){call->function, inbuf, call->datatype, call->count,
                                         (char *)outbuf + call->position, call->bytes, false},
                    site);
    const struct sim_datatype *type = sim_datatype_get(call->datatype);
    char *native = malloc(type->size * (size_t)call->count);
    if (!native)
        return raise(call->function, MPI_ERR_NO_MEM, "out of memory");
    sim_datatype_copy_out(type, inbuf, (size_t)call->count, native);
    struct conversion conversion = {native, (unsigned char *)outbuf + call->position, true};
    sim_datatype_visit(type, (size_t)call->count, convert, &conversion);
    free(native);
    return MPI_SUCCESS;
}

static int unpack(struct external_call *call, const void *inbuf, void *outbuf, const void *site)
{
    int error = check(call, inbuf);
    if (error || call->bytes == 0)
        return error;
    sim_packed_uses(&(struct sim_packed){call->function, outbuf, call->datatype, call->count,
                                         (const char *)inbuf + call->position, call->bytes, true},
                    site);
    const struct sim_datatype *type = sim_datatype_get(call->datatype);
    char *native = malloc(type->size * (size_t)call->count);
    if (!native)
        return raise(call->function, MPI_ERR_NO_MEM, "out of memory");
    unsigned char *external = (unsigned char *)(uintptr_t)inbuf + call->position;
    struct conversion conversion = {native, external, false};
    sim_datatype_visit(type, (size_t)call->count, convert, &conversion);
    sim_datatype_copy_in(type, outbuf, (size_t)call->count, native);
    free(native);
    return MPI_SUCCESS;
}

static int advance(int error, int64_t *position, const struct external_call *call)
{
    if (!error)
        *position += (int64_t)call->bytes;
    return error;
}

int PMPI_Pack_external(const char *datarep, const void *inbuf, int incount, MPI_Datatype datatype,
                       void *outbuf, MPI_Aint outsize, MPI_Aint *position)
{
    if (!position)
        return raise("Pack_external", MPI_ERR_ARG, "position is a null pointer");
    struct external_call call = {"Pack_external", datarep,   incount, datatype,
                                 outsize,         *position, 0};
    return advance(pack(&call, inbuf, outbuf, __builtin_return_address(0)), position, &call);
}

int PMPI_Pack_external_c(const char *datarep, const void *inbuf, MPI_Count incount,
                         MPI_Datatype datatype, void *outbuf, MPI_Count outsize,
                         MPI_Count *position)
{
    if (!position)
        return raise("Pack_external_c", MPI_ERR_ARG, "position is a null pointer");
    struct external_call call = {"Pack_external_c", datarep,   incount, datatype,
                                 outsize,           *position, 0};
    return advance(pack(&call, inbuf, outbuf, __builtin_return_address(0)), position, &call);
}

int PMPI_Unpack_external(const char datarep[], const void *inbuf, MPI_Aint insize,
                         MPI_Aint *position, void *outbuf, int outcount, MPI_Datatype datatype)
{
    if (!position)
        return raise("Unpack_external", MPI_ERR_ARG, "position is a null pointer");
    struct external_call call = {"Unpack_external", datarep, outcount, datatype, insize,
                                 *position,         0};
    return advance(unpack(&call, inbuf, outbuf, __builtin_return_address(0)), position, &call);
}

int PMPI_Unpack_external_c(const char datarep[], const void *inbuf, MPI_Count insize,
                           MPI_Count *position, void *outbuf, MPI_Count outcount,
                           MPI_Datatype datatype)
{
    if (!position)
        return raise("Unpack_external_c", MPI_ERR_ARG, "position is a null pointer");
    struct external_call call = {"Unpack_external_c", datarep, outcount, datatype, insize,
                                 *position,           0};
    return advance(unpack(&call, inbuf, outbuf, __builtin_return_address(0)), position, &call);
}

static int external_size_of(struct external_call call, int64_t *size)
{
    int error = check_type(&call);
    if (!error && !size)
        error = raise(call.function, MPI_ERR_ARG, "size is a null pointer");
    if (!error)
        *size = (int64_t)call.bytes;
    return error;
}

int PMPI_Pack_external_size(const char *datarep, int incount, MPI_Datatype datatype, MPI_Aint *size)
{
    return external_size_of(
        (struct external_call){"Pack_external_size", datarep, incount, datatype, 0, 0, 0}, size);
}

int PMPI_Pack_external_size_c(const char *datarep, MPI_Count incount, MPI_Datatype datatype,
                              MPI_Count *size)
{
    return external_size_of(
        (struct external_call){"Pack_external_size_c", datarep, incount, datatype, 0, 0, 0}, size);
}
