/* datatype.h: what an MPI datatype is to this machine: where the bytes of one element lie, in the
 * order in which they travel, and which basic types they hold.
 *
 * A datatype is immutable once made (but for its name and whether it is committed) and counted by
 * references: an operation under way retains the type, so that the program may free its handle.
 * Predefined types are constants and are neither counted nor freed, though they may be passed to
 * retain and release like any other.
 *
 * The flat form is a list of runs. A run is `count` blocks of `length` bytes, `stride` bytes apart;
 * what a vector, a row of a matrix or a subarray's plane needs is one run. Runs stand in the order
 * of the type map, and neighbours that touch are merged.
 *
 * Rules (sim_datatype_check executes them):
 *   1. The lengths of all runs sum up to `size`; `start` of a run is the sum over those before.
 *   2. No run has length 0 or count 0; a run of count 1 has stride 0; no stride equals its length.
 *   3. `contiguous` means: `count` elements are count * size bytes from the buffer's address on.
 *   4. `basic` is set exactly if all basic elements are of that type; then `elements` of them make
 *      one element.
 *
 * Functions here check nothing and raise no MPI error; the MPI_Type_* functions do.
 */
#ifndef SIM_DATATYPES_DATATYPE_H
#define SIM_DATATYPES_DATATYPE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

#include "sim/base/attributes.h"
#include "sim/base/handle.h"

struct sim_run {
    ptrdiff_t offset; /* of the first block from the buffer's address */
    size_t length;    /* bytes of one block */
    size_t count;     /* blocks */
    ptrdiff_t stride; /* from one block to the next */
    size_t start;     /* bytes of the element that travel before this run */
};

/* How the bytes of a basic type are to be understood; what reduction kernels are chosen by. */
enum sim_kind {
    SIM_KIND_NONE, /* no arithmetic: characters, packed data, derived types of several basic types
                    */
    SIM_KIND_INT8,
    SIM_KIND_INT16,
    SIM_KIND_INT32,
    SIM_KIND_INT64,
    SIM_KIND_INT128,
    SIM_KIND_UINT8,
    SIM_KIND_UINT16,
    SIM_KIND_UINT32,
    SIM_KIND_UINT64,
    SIM_KIND_HALF,
    SIM_KIND_FLOAT,
    SIM_KIND_DOUBLE,
    SIM_KIND_LONG_DOUBLE,
    SIM_KIND_QUAD,
    SIM_KIND_COMPLEX_HALF,
    SIM_KIND_COMPLEX_FLOAT,
    SIM_KIND_COMPLEX_DOUBLE,
    SIM_KIND_COMPLEX_LONG_DOUBLE,
    SIM_KIND_COMPLEX_QUAD,
    SIM_KIND_BOOL,
    SIM_KIND_FLOAT_INT,
    SIM_KIND_DOUBLE_INT,
    SIM_KIND_LONG_INT,
    SIM_KIND_2INT,
    SIM_KIND_SHORT_INT,
    SIM_KIND_LONG_DOUBLE_INT,
    SIM_KIND_2FLOAT,
    SIM_KIND_2DOUBLE,
    SIM_KIND_COUNT
};

/* The groups of predefined types in the standard's table of which operation takes which type. */
enum sim_class {
    SIM_CLASS_NONE,
    SIM_CLASS_C_INTEGER,
    SIM_CLASS_FORTRAN_INTEGER,
    SIM_CLASS_FLOATING,
    SIM_CLASS_COMPLEX,
    SIM_CLASS_LOGICAL,
    SIM_CLASS_BYTE,
    SIM_CLASS_MULTI_LANGUAGE,
    SIM_CLASS_PAIR
};

/* How a type was made, in the words of MPI_Type_get_contents. */
struct sim_contents {
    int combiner;
    bool large; /* made by a _c function */
    size_t integer_count, address_count, large_count, type_count;
    int *integers;
    MPI_Aint *addresses;
    MPI_Count *counts;
    const struct sim_datatype **types; /* retained */
};
void sim_contents_free(struct sim_contents *contents);

struct sim_datatype {
    uint32_t magic; /* SIM_MAGIC_DATATYPE while a handle is valid */
    bool predefined;
    bool committed;
    bool contiguous;
    bool overlaps;        /* bytes of one element share an address; known once committed */
    bool bounds_explicit; /* lb and ub were set by resizing and outrank those of the data */
    uint8_t kind;         /* of a predefined type: enum sim_kind, enum sim_class */
    uint8_t group;
    uint16_t basic; /* handle number of the basic type when there is just one, else 0 */
    uint16_t unit;  /* likewise, but a pair such as MPI_DOUBLE_INT counts as one: for reductions */
    uint16_t alignment;
    atomic_uint references;
    unsigned handles; /* the program's own references */
    size_t size;      /* bytes of data in one element */
    MPI_Aint lb;
    MPI_Aint extent;
    MPI_Aint true_lb;
    MPI_Aint true_extent;
    size_t elements;     /* basic elements in one element */
    uint64_t hash;       /* of the sequence of basic types, see sim_signature */
    uint64_t hash_power; /* the factor that shifts a hash by `elements` places */
    size_t run_count;
    const struct sim_run *runs;
    struct sim_run run;               /* where `runs` points to when there is only one */
    struct sim_contents *contents;    /* how it was made; NULL for a predefined type */
    const char *label;                /* name of a predefined type */
    char *name;                       /* what the program named it; NULL: nothing */
    struct sim_attributes attributes; /* of a derived type; see attributes.c */
};

/* Predefined types by handle number; rows that are no type have no magic. */
#define SIM_DATATYPE_FIRST 0x200
#define SIM_DATATYPE_LAST  0x2eb
extern const struct sim_datatype
    sim_datatype_predefined[SIM_DATATYPE_LAST - SIM_DATATYPE_FIRST + 1];

/* The type behind a handle; NULL for MPI_DATATYPE_NULL, a freed type and what is no type. */
static inline const struct sim_datatype *sim_datatype_get(MPI_Datatype handle)
{
    uintptr_t number = (uintptr_t)handle;
    if (number >= SIM_HANDLE_PREDEFINED)
        return sim_handle_object(handle, SIM_MAGIC_DATATYPE);
    if (number < SIM_DATATYPE_FIRST || number > SIM_DATATYPE_LAST)
        return NULL;
    const struct sim_datatype *type = &sim_datatype_predefined[number - SIM_DATATYPE_FIRST];
    return type->magic ? type : NULL;
}

/* The handle of a type. */
MPI_Datatype sim_datatype_handle(const struct sim_datatype *type);

/* Keeps the type alive: one reference more, one less. retain returns the type; release ignores
 * NULL. */
void sim_datatype_retain_derived(const struct sim_datatype *type);
void sim_datatype_release_derived(const struct sim_datatype *type);
static inline const struct sim_datatype *sim_datatype_retain(const struct sim_datatype *type)
{
    if (!type->predefined)
        sim_datatype_retain_derived(type);
    return type;
}
static inline void sim_datatype_release(const struct sim_datatype *type)
{
    if (type && !type->predefined)
        sim_datatype_release_derived(type);
}

/* Name of the type ("MPI_DOUBLE", or what MPI_Type_set_name gave it); "" when it has none. */
const char *sim_datatype_name(const struct sim_datatype *type);

/* Asserts the rules above. */
void sim_datatype_check(const struct sim_datatype *type);

/* Whether two bytes of `count` elements share an address, so that nothing may be received there.
 * Looks at every block; a type with more than a million of them is taken not to. */
bool sim_datatype_overlaps(const struct sim_datatype *type, size_t count);
/* The same for a committed type in about constant time: where only a long look could tell, as when
 * many elements are interlocked, the answer is that they do not. */
bool sim_datatype_interlock_overlaps(const struct sim_datatype *type, size_t count);
static inline bool sim_datatype_receivable(const struct sim_datatype *type, size_t count)
{
    if (type->contiguous)
        return true;
    MPI_Aint extent = type->extent < 0 ? -type->extent : type->extent;
    return !type->overlaps && (count < 2 || extent >= type->true_extent ||
                               !sim_datatype_interlock_overlaps(type, count));
}

/* --- Moving data (copy.c) ---
 * `packed` holds the bytes of the elements one after the other without gaps, in the order of the
 * type map. Buffers of the two sides must not overlap. */

/* count elements to and from packed form: count * size bytes. */
void sim_datatype_copy_out(const struct sim_datatype *type, const void *buffer, size_t count,
                           void *packed);
void sim_datatype_copy_in(const struct sim_datatype *type, void *buffer, size_t count,
                          const void *packed);

/* The same for bytes [offset, offset + length) of the packed form only; `packed` is the address of
 * byte `offset`. The range must lie within count * size. */
void sim_datatype_copy_out_range(const struct sim_datatype *type, const void *buffer, size_t offset,
                                 size_t length, void *packed);
void sim_datatype_copy_in_range(const struct sim_datatype *type, void *buffer, size_t offset,
                                size_t length, const void *packed);

/* Moves the bytes of typed elements into other typed elements without an intermediate copy. Returns
 * the bytes moved: what both sides have room for. */
size_t sim_datatype_transfer(const void *from, const struct sim_datatype *from_type,
                             size_t from_count, void *to, const struct sim_datatype *to_type,
                             size_t to_count);

/* --- Signatures (signature.c) ---
 * A signature is the sequence of basic types that travel, without where they lie. */
struct sim_signature {
    uint64_t hash;   /* of the sequence */
    size_t elements; /* its length */
    uint16_t basic;  /* handle number of the only basic type in it, else 0 */
    bool packed;     /* holds MPI_PACKED, which matches anything */
};

/* Signature of `count` elements. */
struct sim_signature sim_datatype_signature(const struct sim_datatype *type, size_t count);
/* Whether both are the same sequence. */
bool sim_signature_equal(const struct sim_signature *a, const struct sim_signature *b);
/* Whether what was sent is a prefix of `count` elements of `type`, as a receive demands. */
bool sim_signature_accepts(const struct sim_signature *sent, const struct sim_datatype *type,
                           size_t count);

/* Calls `visit` for every stretch of one basic type in `count` elements, in the order of travel; a
 * pair is visited as value and index. */
typedef void sim_basic_visit(void *context, const struct sim_datatype *basic, size_t count);
void sim_datatype_visit(const struct sim_datatype *type, size_t count, sim_basic_visit *visit,
                        void *context);

/* Basic elements that `bytes` bytes of elements of `type` hold; SIZE_MAX when a basic element is
 * cut. */
size_t sim_datatype_elements_in(const struct sim_datatype *type, size_t bytes);
/* Bytes of the first `elements` basic elements of a sequence of elements of `type`. */
size_t sim_datatype_bytes_of(const struct sim_datatype *type, size_t elements);

#endif
