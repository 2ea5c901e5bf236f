/* Process groups: several tensors in one operation, and tensors and objects of unknown size. See
 * process_group.h.
 *
 * Sizes travel outside the tape, before the values, as one 64-bit number per tensor. */
#include "collectives/systems/process_group/group_operation.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- coalesced ---- */

static size_t elements(struct process_group *group, size_t count, struct diff_tensor *const *x)
{
    size_t total = 0;
    if (count == 0)
        process_group_misuse(group, "a coalesced operation on no tensors");
    for (size_t i = 0; i < count; i++) {
        process_group_check(group, x[i]);
        if (x[i]->type != x[0]->type)
            process_group_misuse(group, "a coalesced operation on %s and %s tensors",
                                 diff_type_name(x[0]->type), diff_type_name(x[i]->type));
        total += x[i]->count;
    }
    return total;
}

static void taken_apart(struct diff_tensor *whole, size_t count, struct diff_tensor *const *like,
                        struct diff_tensor **results)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        struct diff_tensor *part = diff_slice(whole, at, like[i]->count);
        at += like[i]->count;
        results[i] = diff_reshape(part, like[i]->dims, like[i]->shape);
    }
}

void process_group_all_reduce_coalesced(struct process_group *group, size_t count,
                                        struct diff_tensor *const *x, struct process_op op,
                                        struct diff_tensor **results)
{
    ENTER(group->tape->state);
    elements(group, count, x);
    taken_apart(process_group_all_reduce(group, diff_concat(count, x), op), count, x, results);
    state_leave(group->tape->state);
}

void process_group_broadcast_coalesced(struct process_group *group, size_t count,
                                       struct diff_tensor *const *x, int root,
                                       struct diff_tensor **results)
{
    ENTER(group->tape->state);
    elements(group, count, x);
    taken_apart(process_group_broadcast(group, diff_concat(count, x), root), count, x, results);
    state_leave(group->tape->state);
}

void process_group_all_gather_coalesced(struct process_group *group, size_t count,
                                        struct diff_tensor *const *x, struct diff_tensor **results)
{
    ENTER(group->tape->state);
    size_t total = elements(group, count, x), at = 0, size = (size_t)group->size;
    struct diff_tensor *all = process_group_all_gather(group, diff_concat(count, x));
    struct diff_tensor **parts = process_group_take(group, size * sizeof *parts);
    for (size_t i = 0; i < count; i++) {
        for (size_t rank = 0; rank < size; rank++)
            parts[rank] = diff_slice(all, rank * total + at, x[i]->count);
        results[i] = diff_concat(size, parts);
        at += x[i]->count;
    }
    state_leave(group->tape->state);
}

void process_group_reduce_scatter_coalesced(struct process_group *group, size_t count,
                                            struct diff_tensor *const *x, struct process_op op,
                                            struct diff_tensor **results)
{
    ENTER(group->tape->state);
    elements(group, count, x);
    size_t size = (size_t)group->size, at = 0;
    struct diff_tensor **parts = process_group_take(group, count * size * sizeof *parts);
    for (size_t i = 0; i < count; i++) {
        if (x[i]->count % size != 0)
            process_group_misuse(group, "%zu values cannot be split evenly over %d ranks",
                                 x[i]->count, group->size);
        for (size_t rank = 0; rank < size; rank++)
            parts[rank * count + i] =
                diff_slice(x[i], rank * (x[i]->count / size), x[i]->count / size);
    }
    struct diff_tensor *mine =
        process_group_reduce_scatter(group, diff_concat(count * size, parts), NULL, op);
    for (size_t i = 0; i < count; i++) {
        results[i] = diff_slice(mine, at, x[i]->count / size);
        at += x[i]->count / size;
    }
    state_leave(group->tape->state);
}

/* ---- sizes ---- */

static size_t size_read(const struct process_group *group, int64_t size)
{
    if (size < 0)
        process_group_misuse(group, "a size of %lld came: the ranks' operations do not fit",
                             (long long)size);
    return (size_t)size;
}

static void size_send(struct process_group *group, size_t size, int to, int tag)
{
    int64_t number = (int64_t)size;
    process_group_check_peer(group, "destination", to, false);
    process_group_expect(group, data_group_send(group->data, &number, 1, DATA_LONG, to, tag));
}

static size_t size_receive(struct process_group *group, int *from, int tag)
{
    int64_t number = -1;
    struct data_status status;
    process_group_check_peer(group, "source", *from, true);
    process_group_expect(
        group, data_group_receive(group->data, &number, 1, DATA_LONG, *from, tag, &status));
    *from = status.source;
    return size_read(group, number);
}

static size_t size_broadcast(struct process_group *group, size_t size, int root)
{
    int64_t number = (int64_t)size;
    process_group_check_peer(group, "root", root, false);
    process_group_expect(group, data_group_broadcast(group->data, &number, 1, DATA_LONG, root));
    return size_read(group, number);
}

/* Every rank's size; at `root` only, or everywhere (-1). NULL where it is not known. */
static size_t *sizes_gather(struct process_group *group, size_t size, int root)
{
    size_t ranks = (size_t)group->size;
    int64_t own = (int64_t)size;
    int64_t *numbers = process_group_take(group, ranks * sizeof *numbers);
    size_t *ones = process_group_take(group, ranks * sizeof *ones);
    size_t *sizes = process_group_take(group, ranks * sizeof *sizes);
    for (size_t i = 0; i < ranks; i++)
        ones[i] = 1;
    if (root >= 0)
        process_group_expect(
            group, data_group_gather(group->data, &own, 1, numbers, ones, DATA_LONG, root));
    else
        process_group_expect(group,
                             data_group_all_gather(group->data, &own, numbers, ones, DATA_LONG));
    if (root >= 0 && root != group->rank)
        return NULL;
    for (size_t i = 0; i < ranks; i++)
        sizes[i] = size_read(group, numbers[i]);
    return sizes;
}

static size_t size_scatter(struct process_group *group, const size_t *sizes, int root)
{
    size_t ranks = (size_t)group->size;
    int64_t own = -1, *numbers = process_group_take(group, ranks * sizeof *numbers);
    size_t *ones = process_group_take(group, ranks * sizeof *ones);
    for (size_t i = 0; i < ranks; i++) {
        ones[i] = 1;
        numbers[i] = sizes && group->rank == root ? (int64_t)sizes[i] : 0;
    }
    process_group_check_peer(group, "root", root, false);
    process_group_expect(group,
                         data_group_scatter(group->data, numbers, ones, &own, 1, DATA_LONG, root));
    return size_read(group, own);
}

static void counts_report(const struct process_group *group, const size_t *from, size_t *counts)
{
    if (from && counts)
        memcpy(counts, from, (size_t)group->size * sizeof *counts);
}

/* ---- tensors of unknown size ---- */

struct diff_tensor *process_group_send_sized(struct process_group *group, struct diff_tensor *x,
                                             int to, int tag)
{
    ENTER(group->tape->state);
    process_group_check(group, x);
    size_send(group, x->count, to, tag);
    struct diff_tensor *y = process_group_send(group, x, to, tag);
    state_leave(group->tape->state);
    return y;
}

struct diff_tensor *process_group_receive_sized(struct process_group *group,
                                                struct diff_tensor *like, int from, int tag)
{
    ENTER(group->tape->state);
    process_group_check(group, like);
    size_t count = size_receive(group, &from, tag);
    struct diff_tensor *buffer = diff_zeros(group->tape, like->type, 1, &count);
    struct diff_tensor *y = process_group_receive(group, buffer, from, tag);
    state_leave(group->tape->state);
    return y;
}

struct diff_tensor *process_group_broadcast_sized(struct process_group *group,
                                                  struct diff_tensor *x, int root)
{
    ENTER(group->tape->state);
    process_group_check(group, x);
    size_t count = size_broadcast(group, x->count, root);
    if (group->rank != root)
        x = diff_zeros(group->tape, x->type, 1, &count);
    struct diff_tensor *y = process_group_broadcast(group, x, root);
    state_leave(group->tape->state);
    return y;
}

static struct diff_tensor *sized(struct process_group *group, struct group_call call,
                                 struct diff_tensor *x, size_t *counts)
{
    bool all = call.kind == GROUP_ALL_GATHER;
    process_group_check(group, x);
    process_group_check_peer(group, "root", call.peer, false);
    call.out_counts = sizes_gather(group, x->count, all ? -1 : call.peer);
    counts_report(group, call.out_counts, counts);
    return process_group_collective(group, call, x, NULL);
}

struct diff_tensor *process_group_all_gather_sized(struct process_group *group,
                                                   struct diff_tensor *x, size_t *counts)
{
    ENTER(group->tape->state);
    struct diff_tensor *y = sized(group, (struct group_call){.kind = GROUP_ALL_GATHER}, x, counts);
    state_leave(group->tape->state);
    return y;
}

struct diff_tensor *process_group_gather_sized(struct process_group *group, struct diff_tensor *x,
                                               size_t *counts, int root)
{
    ENTER(group->tape->state);
    struct diff_tensor *y =
        sized(group, (struct group_call){.kind = GROUP_GATHER, .peer = root}, x, counts);
    state_leave(group->tape->state);
    return y;
}

struct diff_tensor *process_group_scatter_sized(struct process_group *group, struct diff_tensor *x,
                                                const size_t *counts, int root)
{
    ENTER(group->tape->state);
    process_group_check(group, x);
    bool is_root = group->rank == root;
    if (is_root && (!counts || process_group_total(group, counts) != x->count))
        process_group_misuse(
            group, "scatter: the counts are missing or do not add up to %zu values", x->count);
    struct group_call call = {
        .kind = GROUP_SCATTER, .peer = root, .in_counts = is_root ? counts : NULL};
    call.count = size_scatter(group, counts, root);
    struct diff_tensor *y = process_group_collective(group, call, x, NULL);
    state_leave(group->tape->state);
    return y;
}

struct diff_tensor *process_group_all_to_all_sized(struct process_group *group,
                                                   struct diff_tensor *x, const size_t *send_counts,
                                                   size_t *receive_counts)
{
    ENTER(group->tape->state);
    size_t ranks = (size_t)group->size;
    int64_t *out = process_group_take(group, ranks * sizeof *out);
    int64_t *in = process_group_take(group, ranks * sizeof *in);
    size_t *ones = process_group_take(group, ranks * sizeof *ones);
    size_t *counts = process_group_take(group, ranks * sizeof *counts);
    for (size_t i = 0; i < ranks; i++) {
        ones[i] = 1;
        out[i] = (int64_t)send_counts[i];
    }
    process_group_expect(group, data_group_all_to_all(group->data, out, ones, in, ones, DATA_LONG));
    for (size_t i = 0; i < ranks; i++)
        counts[i] = size_read(group, in[i]);
    counts_report(group, counts, receive_counts);
    struct diff_tensor *y = process_group_all_to_all(group, x, send_counts, counts);
    state_leave(group->tape->state);
    return y;
}

/* ---- objects ---- */

static struct process_object object_new(struct process_group *group, size_t size)
{
    struct process_object object = {malloc(size + 1), size};
    if (!object.bytes)
        state_fail(group->tape->state, "X002", "no memory for an object of %zu bytes", size);
    return object;
}

void process_group_send_object(struct process_group *group, struct process_object object, int to,
                               int tag)
{
    ENTER(group->tape->state);
    size_send(group, object.size, to, tag);
    process_group_expect(
        group, data_group_send(group->data, object.bytes, object.size, DATA_BYTE, to, tag));
    state_leave(group->tape->state);
}

struct process_object process_group_receive_object(struct process_group *group, int from, int tag,
                                                   int *source)
{
    ENTER(group->tape->state);
    struct process_object object = object_new(group, size_receive(group, &from, tag));
    process_group_expect(group, data_group_receive(group->data, object.bytes, object.size,
                                                   DATA_BYTE, from, tag, NULL));
    if (source)
        *source = from;
    state_leave(group->tape->state);
    return object;
}

struct process_object process_group_broadcast_object(struct process_group *group,
                                                     struct process_object object, int root)
{
    ENTER(group->tape->state);
    size_t size = size_broadcast(group, object.size, root);
    if (group->rank != root)
        object = object_new(group, size);
    process_group_expect(group,
                         data_group_broadcast(group->data, object.bytes, size, DATA_BYTE, root));
    state_leave(group->tape->state);
    return object;
}

/* One piece of memory with all objects, then a piece for each. */
static void objects_take_apart(struct process_group *group, const char *together,
                               const size_t *sizes, struct process_object *all)
{
    for (int i = 0; i < group->size; i++) {
        all[i] = object_new(group, sizes[i]);
        memcpy(all[i].bytes, together, sizes[i]);
        together += sizes[i];
    }
}

void process_group_all_gather_objects(struct process_group *group, struct process_object object,
                                      struct process_object *all)
{
    ENTER(group->tape->state);
    const size_t *sizes = sizes_gather(group, object.size, -1);
    char *together = process_group_take(group, process_group_total(group, sizes) + 1);
    process_group_expect(
        group, data_group_all_gather(group->data, object.bytes, together, sizes, DATA_BYTE));
    objects_take_apart(group, together, sizes, all);
    state_leave(group->tape->state);
}

void process_group_gather_objects(struct process_group *group, struct process_object object,
                                  struct process_object *all, int root)
{
    ENTER(group->tape->state);
    process_group_check_peer(group, "root", root, false);
    const size_t *sizes = sizes_gather(group, object.size, root);
    char *together =
        sizes ? process_group_take(group, process_group_total(group, sizes) + 1) : NULL;
    process_group_expect(group, data_group_gather(group->data, object.bytes, object.size, together,
                                                  sizes, DATA_BYTE, root));
    if (sizes)
        objects_take_apart(group, together, sizes, all);
    state_leave(group->tape->state);
}

struct process_object process_group_scatter_objects(struct process_group *group,
                                                    const struct process_object *all, int root)
{
    ENTER(group->tape->state);
    size_t *sizes = NULL, at = 0;
    char *together = NULL;
    if (group->rank == root) {
        sizes = process_group_take(group, (size_t)group->size * sizeof *sizes);
        for (int i = 0; i < group->size; i++)
            sizes[i] = all[i].size;
        together = process_group_take(group, process_group_total(group, sizes) + 1);
        for (int i = 0; i < group->size; i++) {
            memcpy(together + at, all[i].bytes, all[i].size);
            at += all[i].size;
        }
    }
    struct process_object own = object_new(group, size_scatter(group, sizes, root));
    process_group_expect(group, data_group_scatter(group->data, together, sizes, own.bytes,
                                                   own.size, DATA_BYTE, root));
    state_leave(group->tape->state);
    return own;
}
