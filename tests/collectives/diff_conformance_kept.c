/* Conformance suite: the values of a run, kept for comparing them with another MPI's.
 *
 * The rule. A value is the same on every MPI to the last bit unless more than two terms are
 * combined in an order that is the MPI's choice; then it may differ by what the magnitudes of the
 * terms explain, and not more. The table says in which values that order is in play. Two terms have
 * only one order, since IEEE addition and multiplication commute; MAX, MIN and their LOC forms give
 * one of their operands in any order. */
#include "tests/collectives/diff_conformance_internal.h"

#include "collectives/tape/tensor.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum order {
    MOVES,  /* values are only moved, or combined by the library in rank order */
    FOLDS,  /* the MPI combines all ranks' values */
    PREFIX, /* ranks 0 .. r */
    BEFORE, /* ranks 0 .. r - 1 */
};

/* What the results, the gradients and the derivatives of the gradients are made by. The adjoint of
 * Bcast is Reduce, of Allgather Reduce_scatter; of Reduce Bcast, of Reduce_scatter Allgather; Scan
 * and Exscan gather the cotangents. An adjoint's own adjoint is of the forward operation's kind. */
static const struct {
    enum order result, gradient, second;
} orders[CONF_KINDS] = {
    [DIFF_BCAST] = {MOVES, FOLDS, FOLDS},
    [DIFF_REDUCE] = {FOLDS, MOVES, FOLDS},
    [DIFF_ALLREDUCE] = {FOLDS, FOLDS, FOLDS},
    [DIFF_ALLGATHER] = {MOVES, FOLDS, MOVES},
    [DIFF_ALLGATHERV] = {MOVES, FOLDS, MOVES},
    [DIFF_REDUCE_SCATTER] = {FOLDS, MOVES, FOLDS},
    [DIFF_REDUCE_SCATTER_BLOCK] = {FOLDS, MOVES, FOLDS},
    [DIFF_SCAN] = {PREFIX, MOVES, FOLDS},
    [DIFF_EXSCAN] = {BEFORE, MOVES, FOLDS},
    /* all others: MOVES throughout */
};

static bool is_choice(enum conf_op op)
{
    return op >= CONF_MAX && op <= CONF_MAXLOC;
}

static int terms(enum order order, const struct conf_world *world)
{
    switch (order) {
    case FOLDS:
        return world->size;
    case PREFIX:
        return world->rank + 1;
    case BEFORE:
        return world->rank;
    default:
        return 1;
    }
}

static double largest(const struct conf_world *world, double *const *all,
                      const struct conf_side *sides)
{
    double most = 0;
    for (int r = 0; r < world->size; r++)
        for (size_t i = 0; i < sides[r].full * world->parts; i++)
            most = fmax(most, fabs(all[r][i]));
    return most * sqrt((double)world->parts);
}

/* How large the terms of one value may be, all of them together. */
static double magnitude(const struct conf_world *world, enum conf_what what)
{
    int n = world->size;
    double x = largest(world, world->x, world->send), w = largest(world, world->w, world->receive);
    double v = largest(world, world->v, world->send), factor = 1;
    if (world->at->op == CONF_PROD || world->at->op == CONF_USER) {
        factor = fmax(1, x) + (world->at->op == CONF_USER);
        if (what == CONF_RESULT)
            return pow(factor, n);
        factor = pow(factor, n - 1);
    }
    switch (what) {
    case CONF_RESULT:
        return n * x;
    case CONF_GRADIENT:
        return n * w * factor;
    case CONF_TANGENT:
    case CONF_SECOND_W:
        return n * v * factor;
    case CONF_SECOND_X:
        return n * n * w * v * factor;
    default:
        return 0;
    }
}

static bool is_exact(const struct conf_world *world, enum conf_what what)
{
    const struct conf_case *at = world->at;
    bool linear = at->op == CONF_SUM || at->op == CONF_AVG;
    switch (what) {
    case CONF_RESULT:
        return is_choice(at->op) || terms(orders[at->kind].result, world) <= 2;
    case CONF_TANGENT: /* of others the library gathers inputs and tangents */
        return !linear || terms(orders[at->kind].result, world) <= 2;
    case CONF_GRADIENT:
        return terms(orders[at->kind].gradient, world) <= 2;
    case CONF_SECOND_W:
    case CONF_SECOND_X:
        return terms(orders[at->kind].second, world) <= 2;
    default:
        return true;
    }
}

/* What another order of the same terms explains: each of n operations rounds once on either side.
 */
static double bound_of(const struct conf_world *world, enum conf_what what)
{
    if (is_exact(world, what))
        return 0;
    return 2 * world->size * (int)world->parts * conf_epsilon(world->at) * magnitude(world, what);
}

static void *grown(void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return items;
    *room = *room ? *room * 2 : 1024;
    void *larger = realloc(items, *room * size);
    if (!larger)
        abort();
    return larger;
}

void conf_keep_case(struct conf_kept *kept, const struct conf_case *at)
{
    kept->cases = grown(kept->cases, kept->case_count, &kept->case_room, sizeof *kept->cases);
    kept->cases[kept->case_count++] = *at;
}

void conf_keep(struct conf_checker *checker, const struct conf_world *world, enum conf_what what,
               size_t element, double value)
{
    struct conf_kept *kept = checker->options->kept;
    if (!kept)
        return;
    if (element == 0 || kept->last_what != what)
        kept->last_bound = bound_of(world, what);
    kept->last_what = what;
    kept->values = grown(kept->values, kept->count, &kept->room, sizeof *kept->values);
    kept->values[kept->count++] = (struct conf_value){.number = (uint32_t)(kept->case_count - 1),
                                                      .element = (uint32_t)element,
                                                      .what = what,
                                                      .value = value,
                                                      .bound = kept->last_bound};
}

void conf_kept_release(struct conf_kept *kept)
{
    free(kept->cases);
    free(kept->values);
    *kept = (struct conf_kept){0};
}

/* ---- files: how many cases and values, then the values ---- */

bool conf_kept_write(const struct conf_kept *kept, const char *path)
{
    FILE *file = fopen(path, "wb");
    uint64_t head[2] = {kept->case_count, kept->count};
    bool good = file && fwrite(head, sizeof head, 1, file) == 1;
    for (size_t i = 0; good && i < kept->count; i++)
        good = fwrite(&kept->values[i].value, sizeof(double), 1, file) == 1;
    return file && !fclose(file) && good;
}

double *conf_kept_read(const struct conf_kept *ours, const char *path, char *error, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint64_t head[2];
    double *values = calloc(ours->count + 1, sizeof *values);
    bool read = file && values && fread(head, sizeof head, 1, file) == 1;
    if (!read)
        snprintf(error, size, "%s cannot be read: run make test-peers", path);
    else if (head[0] != ours->case_count || head[1] != ours->count)
        snprintf(error, size, "%s has %llu cases and %llu values, here are %zu and %zu", path,
                 (unsigned long long)head[0], (unsigned long long)head[1], ours->case_count,
                 ours->count),
            read = false;
    else if (fread(values, sizeof *values, ours->count, file) != ours->count)
        snprintf(error, size, "%s ends early", path), read = false;
    if (file)
        fclose(file);
    if (read)
        return values;
    free(values);
    return NULL;
}

/* ---- comparing ---- */

static bool agrees(const struct conf_value *ours, double theirs)
{
    if (ours->bound > 0)
        return fabs(ours->value - theirs) <= ours->bound;
    return memcmp(&ours->value, &theirs, sizeof theirs) == 0;
}

void conf_kept_compare(const struct conf_kept *ours, const double *theirs,
                       struct conf_comparison *comparison)
{
    for (size_t i = 0; i < ours->count; i++) {
        const struct conf_value *value = &ours->values[i];
        comparison->exact += value->bound == 0;
        comparison->bounded += value->bound > 0;
        comparison->same += memcmp(&value->value, &theirs[i], sizeof *theirs) == 0;
        if (value->bound > 0)
            comparison->worst =
                fmax(comparison->worst, fabs(value->value - theirs[i]) / value->bound);
        if (!agrees(value, theirs[i]) && comparison->different++ == 0) {
            comparison->at = i;
            comparison->theirs = theirs[i];
        }
    }
}

int conf_kept_text(const struct conf_kept *ours, const struct conf_comparison *comparison, int rank,
                   char *text, size_t size)
{
    static const char *const names[] = {[CONF_RESULT] = "result",
                                        [CONF_INDEX] = "index",
                                        [CONF_GRADIENT] = "gradient",
                                        [CONF_GRADIENT_INTO] = "gradient of the buffer",
                                        [CONF_TANGENT] = "tangent",
                                        [CONF_SECOND_W] = "second derivative by the cotangent",
                                        [CONF_SECOND_X] = "second derivative"};
    const struct conf_value *value = &ours->values[comparison->at];
    char label[200];
    conformance_text(&ours->cases[value->number], label, sizeof label);
    return snprintf(text, size,
                    "case %u, %s: %s, rank %d, element %u: %.17g (%a) here, %.17g (%a) there, %s "
                    "%.3g; %zu values differ",
                    (unsigned)value->number, label, names[value->what], rank,
                    (unsigned)value->element, value->value, value->value, comparison->theirs,
                    comparison->theirs, value->bound > 0 ? "bound" : "the same bits are due, bound",
                    value->bound, comparison->different);
}
