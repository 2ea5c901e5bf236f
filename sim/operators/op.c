/* op.c: the operations as objects, which types they take, and their application to buffers. */
#include "sim/operators/op.h"
#include "sim/worlds/rank.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/recorder.h"
#include "sim/operators/kernel.h"
#include "sim/worlds/rank.h"

/* Accumulator that stays in the first-level cache while many inputs stream past it. */
enum { CHUNK = 4096 };

#define BIT(group) (1u << SIM_CLASS_##group)
#define INTEGERS   (BIT(C_INTEGER) | BIT(FORTRAN_INTEGER) | BIT(MULTI_LANGUAGE))
#define ORDERED    (INTEGERS | BIT(FLOATING))
#define NUMBERS    (ORDERED | BIT(COMPLEX))
#define TRUTHS     (BIT(C_INTEGER) | BIT(LOGICAL) | BIT(MULTI_LANGUAGE))
#define BITS       (INTEGERS | BIT(BYTE))

#define OPERATION(name, groups_)                                                                   \
    [SIM_OP_##name] = {                                                                            \
        .magic = SIM_MAGIC_OP,                                                                     \
        .predefined = true,                                                                        \
        .commutative = SIM_OP_##name < SIM_OP_REPLACE,                                             \
        .number = SIM_OP_##name,                                                                   \
        .groups = (groups_),                                                                       \
        .references = 1,                                                                           \
        .label = "MPI_" #name,                                                                     \
    }

const struct sim_op sim_op_predefined[SIM_OP_NUMBERS] = {
    OPERATION(SUM, NUMBERS), OPERATION(PROD, NUMBERS),     OPERATION(MIN, ORDERED),
    OPERATION(MAX, ORDERED), OPERATION(BAND, BITS),        OPERATION(BOR, BITS),
    OPERATION(BXOR, BITS),   OPERATION(LAND, TRUTHS),      OPERATION(LOR, TRUTHS),
    OPERATION(LXOR, TRUTHS), OPERATION(MINLOC, BIT(PAIR)), OPERATION(MAXLOC, BIT(PAIR)),
    OPERATION(REPLACE, 0),   OPERATION(NO_OP, 0),
};

static atomic_uint *references_of(const struct sim_op *op)
{
    return (atomic_uint *)(uintptr_t)&op->references;
}

const struct sim_op *sim_op_retain(const struct sim_op *op)
{
    if (!op->predefined)
        atomic_fetch_add_explicit(references_of(op), 1, memory_order_relaxed);
    return op;
}

void sim_op_release(const struct sim_op *op)
{
    if (!op || op->predefined)
        return;
    unsigned before = atomic_fetch_sub_explicit(references_of(op), 1, memory_order_acq_rel);
    assert(before > 0);
    if (before == 1)
        free((void *)(uintptr_t)op);
}

sim_kernel *sim_op_kernel(const struct sim_op *op, enum sim_kind kind)
{
    sim_kernel *kernel = sim_op_floating_kernels[op->number][kind];
    kernel = kernel ? kernel : sim_op_integer_kernels[op->number][kind];
    return kernel ? kernel : sim_op_pair_kernels[op->number][kind];
}

int sim_op_allowed(const struct sim_op *op, const struct sim_datatype *type)
{
    if (!op->predefined)
        return MPI_SUCCESS;
    return type->predefined && (op->groups >> type->group & 1) && type->group ? MPI_SUCCESS
                                                                              : MPI_ERR_OP;
}

/* The predefined type that all of `type` is made of; NULL when it is not just one. */
static const struct sim_datatype *unit_of(const struct sim_datatype *type)
{
    return type->unit ? &sim_datatype_predefined[type->unit - SIM_DATATYPE_FIRST] : NULL;
}

int sim_op_allowed_in_window(const struct sim_op *op, const struct sim_datatype *type)
{
    if (!op->predefined)
        return MPI_ERR_OP;
    const struct sim_datatype *unit = unit_of(type);
    if (!unit)
        return type->size ? MPI_ERR_TYPE : MPI_SUCCESS;
    return op->number >= SIM_OP_REPLACE ? MPI_SUCCESS : sim_op_allowed(op, unit);
}

/* ---- Predefined operations ---- */

/* `count` blocks of whole units; blocks of pairs with a gap hold one pair after the other. */
struct blocks {
    const char *left, *right;
    char *out;
    const struct sim_datatype *unit;
    sim_kernel *kernel;
};

static void apply_run(const struct blocks *at, const struct sim_run *run)
{
    size_t units = run->length / at->unit->size;
    size_t pieces = at->unit->contiguous ? 1 : units;
    for (size_t i = 0; i < run->count; i++)
        for (size_t j = 0; j < pieces; j++) {
            ptrdiff_t shift =
                run->offset + (ptrdiff_t)i * run->stride + (ptrdiff_t)(j * at->unit->size);
            at->kernel(at->left + shift, at->right + shift, at->out + shift, units / pieces);
        }
}

/* out = left op right for whatever layout the type has; out is one of the operands or has it too.
 */
static void apply_predefined(const struct sim_op *op, const void *left, const void *right,
                             void *out, size_t count, const struct sim_datatype *type)
{
    if (count == 0 || type->size == 0)
        return;
    const struct sim_datatype *unit = unit_of(type);
    sim_kernel *kernel = sim_op_kernel(op, unit->kind);
    assert(kernel);
    if (type->predefined || (type->contiguous && unit->contiguous)) {
        kernel(left, right, out, count * type->size / unit->size);
        return;
    }
    struct blocks at = {left, right, out, unit, kernel};
    for (size_t i = 0; i < count; i++) {
        for (size_t r = 0; r < type->run_count; r++)
            apply_run(&at, &type->runs[r]);
        at.left += type->extent;
        at.right += type->extent;
        at.out += type->extent;
    }
}

/* MPI_REPLACE gives the right operand, MPI_NO_OP the left one. */
static void apply_selection(const void *chosen, void *out, size_t count,
                            const struct sim_datatype *type)
{
    if (chosen != out)
        sim_datatype_transfer(chosen, type, count, out, type, count);
}

/* ---- Operations of the program: inout = in op inout, one function call ---- */

static void call_function(const struct sim_op *op, const void *in, void *inout, size_t count,
                          const struct sim_datatype *type)
{
    MPI_Datatype handle = sim_datatype_handle(type);
    char *left = (char *)(uintptr_t)in, *right = inout;
    if (op->user_large) {
        MPI_Count length = (MPI_Count)count;
        op->user_large(left, right, &length, &handle);
        return;
    }
    while (count) {
        int length = count < INT_MAX ? (int)count : INT_MAX;
        op->user(left, right, &length, &handle);
        left += length * type->extent;
        right += length * type->extent;
        count -= (size_t)length;
    }
}

/* What the function touches it touches for MPI. */
static void call_user(const struct sim_op *op, const void *in, void *inout, size_t count,
                      const struct sim_datatype *type)
{
    struct sim_rank *rank = sim_current_rank;
    SIM_CALLBACK callback = sim_callback_of(rank, MPI_ERR_OTHER);
    if (rank) {
        callback.within_op = true;
        rank->within_op++;
    }
    call_function(op, in, inout, count, type);
    callback.rank = NULL;
    if (rank)
        rank->within_op--;
}

/* In the middle of a collective. */
static void call_guarded(const struct sim_op *op, const void *in, void *inout, size_t count,
                         const struct sim_datatype *type)
{
    SIM_GUARDED rank = sim_current_rank;
    if (rank)
        sim_guard_begin(rank, __builtin_frame_address(0), SIM_GUARD_OP);
    call_user(op, in, inout, count, type);
    if (rank)
        sim_guard_end(rank);
}

/* Memory for elements of a type that may begin before its address. */
struct copy {
    char *memory;
    char *elements; /* what a buffer argument would point to */
};

static bool copy_new(struct copy *copy, size_t count, const struct sim_datatype *type)
{
    MPI_Aint reach = count ? (MPI_Aint)(count - 1) * type->extent : 0;
    MPI_Aint low = type->true_lb + (reach < 0 ? reach : 0);
    MPI_Aint bytes = type->true_extent + (reach < 0 ? -reach : reach);
    MPI_Aint shift = (low % 64 + 64) % 64; /* keeps elements as aligned as malloc is */
    copy->memory = malloc((size_t)(bytes + shift) + 1);
    copy->elements = (char *)((uintptr_t)copy->memory + (uintptr_t)shift - (uintptr_t)low);
    return copy->memory != NULL;
}

static bool same_elements(const char *a, const char *b, size_t count,
                          const struct sim_datatype *type)
{
    for (size_t i = 0; i < count; i++)
        for (size_t r = 0; r < type->run_count; r++) {
            const struct sim_run *run = &type->runs[r];
            ptrdiff_t at = (ptrdiff_t)i * type->extent + run->offset;
            for (size_t k = 0; k < run->count; k++, at += run->stride)
                if (memcmp(a + at, b + at, run->length) != 0)
                    return false;
        }
    return true;
}

/* MPI may take the operands of a commutative operation in any order, and this machine takes them in
 * that of the ranks. A few are taken in the other order, too, where every load and store is seen. */
static void swap_operands(const struct sim_op *op, const void *left, const void *right,
                          const void *result, size_t count, const struct sim_datatype *type)
{
    enum { TRIED = 4 };
    const struct sim_rank *rank = sim_current_rank;
    atomic_uint *swapped = (atomic_uint *)(uintptr_t)&op->swapped;
    struct copy other;
    if (!op->commutative || !rank || !rank->world->options.memory ||
        atomic_fetch_add_explicit(swapped, 1, memory_order_relaxed) >= TRIED)
        return;
    if (copy_new(&other, count, type)) {
        sim_datatype_transfer(left, type, count, other.elements, type, count);
        call_guarded(op, right, other.elements, count, type);
        if (!same_elements(result, other.elements, count, type))
            record_gap("reductions", 1,
                       "an operation that is declared commutative gave another result with its "
                       "operands swapped: MPI may take them in any order");
    }
    free(other.memory);
}

static int reduce_user(const struct sim_op *op, const struct sim_datatype *type, size_t count,
                       const void *const *inputs, size_t n, void *result)
{
    struct copy copies[2] = {{NULL, NULL}, {NULL, NULL}};
    int error = MPI_ERR_NO_MEM;
    if (!copy_new(&copies[0], count, type) || !copy_new(&copies[1], count, type))
        goto out;
    /* The function writes over its right operand, so each input is copied before its turn. */
    const void *left = inputs[0];
    for (size_t i = 1; i < n; i++) {
        char *right = copies[i % 2].elements;
        sim_datatype_transfer(inputs[i], type, count, right, type, count);
        call_guarded(op, left, right, count, type);
        swap_operands(op, left, inputs[i], right, count, type);
        left = right;
    }
    apply_selection(left, result, count, type);
    error = MPI_SUCCESS;
out:
    free(copies[0].memory);
    free(copies[1].memory);
    return error;
}

/* ---- What op.h declares ---- */

int sim_op_apply(const struct sim_op *op, const void *in, void *inout, size_t count,
                 const struct sim_datatype *type)
{
    if (!op->predefined)
        call_user(op, in, inout, count, type);
    else if (op->number == SIM_OP_NO_OP)
        apply_selection(in, inout, count, type);
    else if (op->number != SIM_OP_REPLACE)
        apply_predefined(op, in, inout, inout, count, type);
    return MPI_SUCCESS;
}

int sim_op_apply_right(const struct sim_op *op, void *accumulator, const void *right, size_t count,
                       const struct sim_datatype *type)
{
    if (!op->predefined)
        return reduce_user(op, type, count, (const void *[]){accumulator, right}, 2, accumulator);
    if (op->number == SIM_OP_REPLACE)
        apply_selection(right, accumulator, count, type);
    else if (op->number != SIM_OP_NO_OP)
        apply_predefined(op, accumulator, right, accumulator, count, type);
    return MPI_SUCCESS;
}

/* Chunk by chunk: the running result stays in the cache, and reaches `result` only with the last
 * input, when nothing of this chunk is needed any more. */
static void reduce_chunks(sim_kernel *kernel, const struct sim_datatype *type, size_t count,
                          const void *const *inputs, size_t n, char *result)
{
    _Alignas(64) char accumulator[CHUNK];
    size_t width = (size_t)type->extent, step = CHUNK / width;
    for (size_t done = 0; done < count; done += step) {
        size_t length = count - done < step ? count - done : step, at = done * width;
        const void *left = (const char *)inputs[0] + at;
        for (size_t i = 1; i < n; i++) {
            void *out = i + 1 < n ? accumulator : result + at;
            kernel(left, (const char *)inputs[i] + at, out, length);
            left = out;
        }
    }
}

int sim_op_reduce_many(const struct sim_op *op, const struct sim_datatype *type, size_t count,
                       const void *const *inputs, size_t n, void *result)
{
    if (n == 1) {
        apply_selection(inputs[0], result, count, type);
        return MPI_SUCCESS;
    }
    if (!op->predefined)
        return reduce_user(op, type, count, inputs, n, result);
    sim_kernel *kernel = sim_op_kernel(op, type->kind);
    assert(type->predefined && kernel);
    reduce_chunks(kernel, type, count, inputs, n, result);
    return MPI_SUCCESS;
}
