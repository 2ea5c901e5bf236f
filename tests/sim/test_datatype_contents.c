/* test_datatype_contents.c: a type made again from its contents, signatures, names, errors.
 *
 * usage: test_datatype_contents [SEED]
 */
#include <mpi.h>

#include "sim/datatypes/datatype.h"
#include "sim/messages/status.h"
#include "tests/fences/fence.h"
#include "tests/sim/datatype_naive.h"
#include "tests/tap.h"

enum { ROUNDS = 1000 };

/* ---- Contents ---- */

struct contents {
    MPI_Count integer_count, address_count, large_count, type_count;
    int combiner;
    int integers[64];
    MPI_Aint addresses[64];
    MPI_Count counts[64];
    MPI_Datatype types[64];
};

static struct contents contents_of(MPI_Datatype type)
{
    struct contents c;
    PMPI_Type_get_envelope_c(type, &c.integer_count, &c.address_count, &c.large_count,
                             &c.type_count, &c.combiner);
    if (c.combiner != MPI_COMBINER_NAMED)
        PMPI_Type_get_contents_c(type, 64, 64, 64, 64, c.integers, c.addresses, c.counts, c.types);
    return c;
}

/* Made by a function with ints. */
static MPI_Datatype make_small(const struct contents *c)
{
    MPI_Datatype type = MPI_DATATYPE_NULL, old = c->types[0];
    const int *i = c->integers;
    const MPI_Aint *a = c->addresses;
    switch (c->combiner) {
    case MPI_COMBINER_DUP:
        PMPI_Type_dup(old, &type);
        break;
    case MPI_COMBINER_CONTIGUOUS:
        PMPI_Type_contiguous(i[0], old, &type);
        break;
    case MPI_COMBINER_VECTOR:
        PMPI_Type_vector(i[0], i[1], i[2], old, &type);
        break;
    case MPI_COMBINER_HVECTOR:
        PMPI_Type_create_hvector(i[0], i[1], a[0], old, &type);
        break;
    case MPI_COMBINER_INDEXED:
        PMPI_Type_indexed(i[0], i + 1, i + 1 + i[0], old, &type);
        break;
    case MPI_COMBINER_HINDEXED:
        PMPI_Type_create_hindexed(i[0], i + 1, a, old, &type);
        break;
    case MPI_COMBINER_INDEXED_BLOCK:
        PMPI_Type_create_indexed_block(i[0], i[1], i + 2, old, &type);
        break;
    case MPI_COMBINER_HINDEXED_BLOCK:
        PMPI_Type_create_hindexed_block(i[0], i[1], a, old, &type);
        break;
    case MPI_COMBINER_STRUCT:
        PMPI_Type_create_struct(i[0], i + 1, a, c->types, &type);
        break;
    case MPI_COMBINER_RESIZED:
        PMPI_Type_create_resized(old, a[0], a[1], &type);
        break;
    case MPI_COMBINER_SUBARRAY:
        PMPI_Type_create_subarray(i[0], i + 1, i + 1 + i[0], i + 1 + 2 * i[0], i[1 + 3 * i[0]], old,
                                  &type);
        break;
    case MPI_COMBINER_DARRAY:
        PMPI_Type_create_darray(i[0], i[1], i[2], i + 3, i + 3 + i[2], i + 3 + 2 * i[2],
                                i + 3 + 3 * i[2], i[3 + 4 * i[2]], old, &type);
        break;
    default:
        break;
    }
    return type;
}

/* Made by a _c function. */
static MPI_Datatype make_large(const struct contents *c)
{
    MPI_Datatype type = MPI_DATATYPE_NULL, old = c->types[0];
    const int *i = c->integers;
    const MPI_Count *n = c->counts;
    switch (c->combiner) {
    case MPI_COMBINER_CONTIGUOUS:
        PMPI_Type_contiguous_c(n[0], old, &type);
        break;
    case MPI_COMBINER_VECTOR:
        PMPI_Type_vector_c(n[0], n[1], n[2], old, &type);
        break;
    case MPI_COMBINER_HVECTOR:
        PMPI_Type_create_hvector_c(n[0], n[1], n[2], old, &type);
        break;
    case MPI_COMBINER_INDEXED:
        PMPI_Type_indexed_c(n[0], n + 1, n + 1 + n[0], old, &type);
        break;
    case MPI_COMBINER_HINDEXED:
        PMPI_Type_create_hindexed_c(n[0], n + 1, n + 1 + n[0], old, &type);
        break;
    case MPI_COMBINER_INDEXED_BLOCK:
        PMPI_Type_create_indexed_block_c(n[0], n[1], n + 2, old, &type);
        break;
    case MPI_COMBINER_HINDEXED_BLOCK:
        PMPI_Type_create_hindexed_block_c(n[0], n[1], n + 2, old, &type);
        break;
    case MPI_COMBINER_STRUCT:
        PMPI_Type_create_struct_c(n[0], n + 1, n + 1 + n[0], c->types, &type);
        break;
    case MPI_COMBINER_RESIZED:
        PMPI_Type_create_resized_c(old, n[0], n[1], &type);
        break;
    case MPI_COMBINER_SUBARRAY:
        PMPI_Type_create_subarray_c(i[0], n, n + i[0], n + 2 * i[0], i[1], old, &type);
        break;
    case MPI_COMBINER_DARRAY:
        PMPI_Type_create_darray_c(i[0], i[1], i[2], n, i + 3, i + 3 + i[2], i + 3 + 2 * i[2],
                                  i[3 + 3 * i[2]], old, &type);
        break;
    default:
        break;
    }
    return type;
}

/* The same type once more, from the innermost type outwards. */
static MPI_Datatype make_again(MPI_Datatype type)
{
    struct contents c = contents_of(type);
    if (c.combiner == MPI_COMBINER_NAMED)
        return type;
    for (int i = 0; i < c.type_count; i++) {
        MPI_Datatype inner = c.types[i];
        c.types[i] = make_again(inner);
        if (sim_handle_object(inner, SIM_MAGIC_DATATYPE))
            PMPI_Type_free(&inner);
    }
    MPI_Datatype again = c.large_count ? make_large(&c) : make_small(&c);
    for (int i = 0; i < c.type_count; i++)
        if (sim_handle_object(c.types[i], SIM_MAGIC_DATATYPE))
            PMPI_Type_free(&c.types[i]);
    return again;
}

static bool same_type(MPI_Datatype left, MPI_Datatype right)
{
    const struct sim_datatype *a = sim_datatype_get(left), *b = sim_datatype_get(right);
    bool same = a && b && a->size == b->size && a->lb == b->lb && a->extent == b->extent &&
                a->elements == b->elements && a->hash == b->hash && a->run_count == b->run_count;
    return same && memcmp(a->runs, b->runs, a->run_count * sizeof *a->runs) == 0;
}

/* What a type holds of others it gives back with its last handle, whichever goes first. */
static void test_memory(void)
{
    long before = fence_live();
    for (int i = 0; i < 60; i++) {
        struct naive naive = naive_make_any(i % 4);
        MPI_Datatype again = make_again(naive.handle), pair[2] = {naive.handle, again}, both;
        PMPI_Type_create_struct(2, (int[]){1, i % 3}, (MPI_Aint[]){0, 4096}, pair, &both);
        if (i % 2)
            PMPI_Type_free(&both);
        if (!sim_handle_is_predefined(again))
            PMPI_Type_free(&again);
        naive_free(&naive);
        if (i % 2 == 0)
            PMPI_Type_free(&both);
    }
    tap_is_int(fence_live() - before, 0, "types give their memory back");
}

static void test_contents(void)
{
    bool same = true, again_named = true;
    for (int i = 0; i < ROUNDS; i++) {
        struct naive naive = naive_make_any(i % 4);
        struct contents c = contents_of(naive.handle);
        again_named = again_named &&
                      (c.combiner == MPI_COMBINER_NAMED) == sim_handle_is_predefined(naive.handle);
        MPI_Datatype again = make_again(naive.handle);
        same = same && same_type(naive.handle, again);
        for (int k = 0; c.combiner != MPI_COMBINER_NAMED && k < c.type_count; k++)
            if (!sim_handle_is_predefined(c.types[k]))
                PMPI_Type_free(&c.types[k]);
        if (!sim_handle_is_predefined(again))
            PMPI_Type_free(&again);
        naive_free(&naive);
    }
    tap_ok(same, "a type made again from its envelope and contents is the same type");
    tap_ok(again_named, "just the predefined types are named");
}

static void test_content_errors(void)
{
    MPI_Datatype small, large, inner;
    int integers[3], n[3], combiner;
    MPI_Aint addresses[1];
    PMPI_Type_vector(2, 1, 3, MPI_INT, &small);
    PMPI_Type_vector_c(2, 1, 3, MPI_INT, &large);
    tap_is_int(PMPI_Type_get_envelope(large, &n[0], &n[1], &n[2], &combiner), MPI_ERR_TYPE,
               "an envelope of ints is refused for a type with large counts");
    tap_is_int(PMPI_Type_get_contents(small, 2, 1, 1, integers, addresses, &inner), MPI_ERR_ARG,
               "contents are refused when an array is too small");
    tap_is_int(PMPI_Type_get_contents(MPI_INT, 3, 1, 1, integers, addresses, &inner), MPI_ERR_TYPE,
               "a predefined type has no contents");
    PMPI_Type_free(&small);
    PMPI_Type_free(&large);
}

/* ---- Signatures ---- */

/* The basic types of `count` elements in the order of travel. */
static int *naive_sequence(const struct naive *type, int count, size_t *n)
{
    int *sequence = malloc((type->count * (size_t)count + 1) * sizeof *sequence);
    *n = 0;
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < type->count; k++)
            if (type->entries[k].basic >= 0)
                sequence[(*n)++] = type->entries[k].basic;
    return sequence;
}

static bool signatures_agree(const struct naive *sent, const struct naive *received, int *equals,
                             int *prefixes)
{
    int sent_count = naive_between(0, 3), received_count = naive_between(0, 3);
    size_t sent_n, received_n;
    int *a = naive_sequence(sent, sent_count, &sent_n);
    int *b = naive_sequence(received, received_count, &received_n);
    bool prefix = sent_n <= received_n && memcmp(a, b, sent_n * sizeof *a) == 0;
    bool equal = prefix && sent_n == received_n;
    *equals += equal;
    *prefixes += prefix && !equal && sent_n;
    struct sim_signature sent_signature =
        sim_datatype_signature(sim_datatype_get(sent->handle), (size_t)sent_count);
    struct sim_signature received_signature =
        sim_datatype_signature(sim_datatype_get(received->handle), (size_t)received_count);
    bool same = sent_signature.elements == sent_n &&
                sim_signature_equal(&sent_signature, &received_signature) == equal &&
                sim_signature_accepts(&sent_signature, sim_datatype_get(received->handle),
                                      (size_t)received_count) == prefix;
    free(a);
    free(b);
    return same;
}

static bool elements_agree(const struct naive *type)
{
    size_t n, bytes = 0;
    int *sequence = naive_sequence(type, 3, &n);
    bool same = true;
    for (size_t i = 0; i < n; i++) {
        MPI_Status status;
        int count, size = naive_basics[sequence[i]].size;
        sim_status_set_bytes(&status, bytes);
        PMPI_Get_elements(&status, type->handle, &count);
        same = same && count == (int)i;
        PMPI_Status_set_elements(&status, type->handle, (int)i);
        same = same && sim_status_bytes(&status) == bytes;
        PMPI_Get_count(&status, type->handle, &count);
        same = same && count == (i % (n / 3) == 0 ? (int)(i / (n / 3)) : MPI_UNDEFINED);
        if (size > 1) {
            sim_status_set_bytes(&status, bytes + 1);
            PMPI_Get_elements(&status, type->handle, &count);
            same = same && count == MPI_UNDEFINED;
        }
        bytes += (size_t)size;
    }
    free(sequence);
    return same;
}

static void test_signatures(void)
{
    bool same = true, elements = true;
    int equals = 0, prefixes = 0;
    for (int i = 0; i < 2 * ROUNDS; i++) {
        struct naive a = naive_make_any(i % 3);
        struct naive b = i % 2 ? naive_make_any(i / 3 % 3) : (struct naive){0};
        if (i % 2 == 0) { /* often the same sequence at other places */
            PMPI_Type_create_hvector(3, 1, 1000, a.handle, &b.handle);
            for (int k = 0; k < 3; k++)
                naive_copy(&b, &a, 1000 * k, true);
        }
        same = same && signatures_agree(&a, &b, &equals, &prefixes);
        elements = elements && elements_agree(&a) && (i % 4 || elements_agree(&b));
        naive_free(&a);
        naive_free(&b);
    }
    tap_ok(same && equals > 50 && prefixes > 50,
           "what was sent is accepted just when its basic types begin what is received");
    tap_ok(elements, "Get_elements counts basic elements and Get_count whole ones");
}

static void test_signature_exceptions(void)
{
    struct sim_signature packed = sim_datatype_signature(sim_datatype_get(MPI_PACKED), 8);
    struct sim_signature doubles = sim_datatype_signature(sim_datatype_get(MPI_DOUBLE), 1);
    struct sim_signature pair = sim_datatype_signature(sim_datatype_get(MPI_DOUBLE_INT), 2);
    MPI_Datatype structure;
    PMPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8},
                            (MPI_Datatype[]){MPI_DOUBLE, MPI_INT}, &structure);
    tap_ok(sim_signature_accepts(&packed, sim_datatype_get(MPI_DOUBLE), 1) &&
               sim_signature_accepts(&doubles, sim_datatype_get(MPI_PACKED), 8),
           "packed data matches everything");
    tap_ok(!sim_signature_accepts(&doubles, sim_datatype_get(MPI_BYTE), 8),
           "a double is not received as bytes");
    tap_ok(sim_signature_accepts(&pair, sim_datatype_get(structure), 2),
           "a predefined pair is received as a struct of value and index");
    PMPI_Type_free(&structure);
}

/* ---- Handles, names, errors ---- */

static void test_handles(void)
{
    MPI_Datatype inner, outer, copy;
    PMPI_Type_vector(3, 1, 2, MPI_INT, &inner);
    PMPI_Type_contiguous(2, inner, &outer);
    MPI_Datatype stale = inner;
    PMPI_Type_free(&inner);
    int size;
    tap_ok(inner == MPI_DATATYPE_NULL, "freeing a type sets the handle to null");
    tap_is_int(PMPI_Type_size(stale, &size), MPI_ERR_TYPE,
               "a freed type is recognised while another is made of it");
    PMPI_Type_size(outer, &size);
    tap_is_int(size, 24, "a type outlives the types it was made of");
    const struct sim_datatype *kept = sim_datatype_retain(sim_datatype_get(outer));
    PMPI_Type_free(&outer);
    tap_is_int(kept->size, 24, "a retained type outlives its handle");
    sim_datatype_release(kept);
    tap_is_int(PMPI_Type_free(&(MPI_Datatype){MPI_INT}), MPI_ERR_TYPE,
               "a predefined type cannot be freed");
    PMPI_Type_dup(MPI_DOUBLE, &copy);
    tap_ok(sim_datatype_get(copy)->committed, "a duplicate of a committed type is committed");
    PMPI_Type_free(&copy);
}

/* Contents hand out handles of their own. */
static void test_content_handles(void)
{
    MPI_Datatype inner, outer, got;
    int integers[1], size = -1;
    MPI_Aint addresses[1];
    PMPI_Type_vector(3, 1, 2, MPI_INT, &inner);
    PMPI_Type_contiguous(2, inner, &outer);
    PMPI_Type_get_contents(outer, 1, 0, 1, integers, addresses, &got);
    PMPI_Type_free(&inner);
    tap_ok(PMPI_Type_size(got, &size) == MPI_SUCCESS && size == 12,
           "a type out of contents lives on when the original handle is freed");
    PMPI_Type_free(&got);
    PMPI_Type_get_contents(outer, 1, 0, 1, integers, addresses, &got);
    tap_ok(PMPI_Type_size(got, &size) == MPI_SUCCESS && size == 12,
           "contents can be asked for when no handle of the old type is left");
    PMPI_Type_free(&got);
    PMPI_Type_free(&outer);
}

static void test_names(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Datatype type;
    PMPI_Type_get_name(MPI_DOUBLE, name, &length);
    tap_is_str(name, "MPI_DOUBLE", "a predefined type has its constant's name");
    PMPI_Type_get_name(MPI_LONG_LONG, name, &length);
    tap_is_str(name, "MPI_LONG_LONG_INT", "one with two constants has the first one's");
    PMPI_Type_get_name(MPI_C_FLOAT_COMPLEX, name, &length);
    tap_is_str(name, "MPI_C_COMPLEX", "so has a complex one");
    PMPI_Type_contiguous(2, MPI_INT, &type);
    PMPI_Type_get_name(type, name, &length);
    tap_is_int(length, 0, "a new type has no name");
    PMPI_Type_set_name(type, "point");
    PMPI_Type_get_name(type, name, &length);
    tap_is_str(name, "point", "a type has the name it was given");
    PMPI_Type_free(&type);
}

static void test_errors(void)
{
    MPI_Datatype type;
    const int one[1] = {1}, four[1] = {4}, two[1] = {2};
    tap_is_int(PMPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT, "a negative count");
    tap_is_int(PMPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type), MPI_ERR_TYPE, "a null type");
    tap_is_int(PMPI_Type_contiguous(1, (MPI_Datatype)MPI_SUM, &type), MPI_ERR_TYPE,
               "a handle of another kind");
    tap_is_int(PMPI_Type_contiguous(1, MPI_INT, NULL), MPI_ERR_ARG, "no place for the new type");
    tap_is_int(PMPI_Type_vector(1, -1, 1, MPI_INT, &type), MPI_ERR_ARG, "a negative block length");
    tap_is_int(PMPI_Type_indexed(1, NULL, one, MPI_INT, &type), MPI_ERR_ARG, "a missing array");
    tap_is_int(PMPI_Type_indexed(1, (int[]){-1}, one, MPI_INT, &type), MPI_ERR_ARG,
               "a negative length in an array");
    tap_is_int(PMPI_Type_create_subarray(1, four, two, (int[]){3}, MPI_ORDER_C, MPI_INT, &type),
               MPI_ERR_ARG, "a subarray that ends behind its array");
    tap_is_int(PMPI_Type_create_subarray(1, four, two, one, 5, MPI_INT, &type), MPI_ERR_ARG,
               "an unknown order");
    tap_is_int(PMPI_Type_create_darray(2, 0, 1, four, (int[]){MPI_DISTRIBUTE_BLOCK}, one, two,
                                       MPI_ORDER_C, MPI_INT, &type),
               MPI_ERR_ARG, "blocks too short to cover a distributed array");
    tap_is_int(PMPI_Type_contiguous_c(INT64_MAX, MPI_INT, &type), MPI_ERR_VALUE_TOO_LARGE,
               "more bytes than can be addressed");
}

static void test_match_size(void)
{
    MPI_Datatype type = MPI_DATATYPE_NULL, pair;
    PMPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type);
    tap_ok(type == MPI_DOUBLE_PRECISION, "a real of eight bytes is found by its size");
    tap_is_int(PMPI_Type_match_size(MPI_TYPECLASS_REAL, 5, &type), MPI_ERR_ARG,
               "no real has five bytes");
    PMPI_Type_create_f90_real(7, MPI_UNDEFINED, &type);
    tap_ok(type == MPI_REAL8, "seven digits need a real of eight bytes");
    PMPI_Type_create_f90_integer(5, &type);
    tap_ok(type == MPI_INTEGER4, "five digits need an integer of four bytes");
    tap_is_int(PMPI_Type_create_f90_complex(40, 10, &type), MPI_ERR_ARG,
               "no complex number has forty digits");
    PMPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair);
    tap_ok(pair == MPI_DOUBLE_INT, "a pair is found by its value and index");
    PMPI_Type_get_value_index(MPI_INT, MPI_DOUBLE, &pair);
    tap_ok(pair == MPI_DATATYPE_NULL, "there is no pair with an index of doubles");
}

int main(int argc, char **argv)
{
    naive_state = argc > 1 ? strtoull(argv[1], NULL, 0) : 5;
    tap_note("seed %llu", (unsigned long long)naive_state);
    test_memory();
    test_contents();
    test_content_errors();
    test_signatures();
    test_signature_exceptions();
    test_handles();
    test_content_handles();
    test_names();
    test_errors();
    test_match_size();
    return tap_done();
}
