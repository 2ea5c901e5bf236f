/* Layouts and shapes as what they are, linear maps: random programs of slices, concatenations, reshapes, elements taken and put, layouts of blocks
 * and of MPI datatypes. The test writes down each tensor's matrix over the inputs, element by element, and compares values, tangents,
 * gradients and second derivatives with it. What a layout or a shape may not be is refused with its words, and its right neighbour is not. */
#include "tests/diff_world.h"

#include "collectives/tape/layout.h"

#include <math.h>

enum { INPUTS = 2, COLUMNS = 12, ROWS = 30, STEPS = 9, PROGRAMS = 500, BLOCKS = 3 };

static uint64_t dice;

static size_t below(size_t limit)
{
    return dice_below(&dice, (uint32_t)limit);
}

static bool one_of(uint32_t times)
{
    return dice_below(&dice, times) == 0;
}

/* ---- a tensor and what it should be ---- */

struct known {
    struct diff_tensor *is;
    size_t count, dims, shape[3];
    double row[ROWS][COLUMNS]; /* over the values of all inputs */
};

static struct diff_tape *tape;
static enum diff_type type;
static struct known made[INPUTS + STEPS + 1];
static size_t made_count;

static struct known *known_new(size_t count)
{
    struct known *new = &made[made_count++];
    *new = (struct known){.count = count, .dims = 1, .shape = {count}};
    return new;
}

static void copy_row(struct known *to, size_t at, const struct known *from, size_t row)
{
    for (size_t k = 0; k < COLUMNS; k++)
        to->row[at][k] += from->row[row][k];
}

static const struct known *any(void)
{
    return &made[below(made_count)];
}

/* Some rows of a tensor as a vector. */
static struct known *rows_of(const struct known *x, const size_t *index, size_t count)
{
    struct known *y = known_new(count);
    for (size_t i = 0; i < count; i++)
        copy_row(y, i, x, index[i]);
    return y;
}

/* ---- places: what a layout lists ---- */

struct places {
    size_t at[ROWS], count, span;
    bool twice;
};

/* Returns false where there is no more room. */
static bool place_add(struct places *places, size_t at)
{
    if (places->count == ROWS || at >= ROWS)
        return false;
    for (size_t i = 0; i < places->count; i++)
        places->twice |= places->at[i] == at;
    places->at[places->count++] = at;
    places->span = at + 1 > places->span ? at + 1 : places->span;
    return true;
}

/* Elements, and where they begin and end for what follows them. */
struct shape {
    struct places places;
    int begin, end;
};

static bool shape_copy(struct shape *to, const struct shape *of, int displacement)
{
    int offset = displacement * (of->end - of->begin);
    bool first = to->places.count == 0, fits = true;
    for (size_t i = 0; i < of->places.count; i++)
        fits = place_add(&to->places, of->places.at[i] + (size_t)offset) && fits;
    to->begin = first || of->begin + offset < to->begin ? of->begin + offset : to->begin;
    to->end = first || of->end + offset > to->end ? of->end + offset : to->end;
    return fits;
}

static MPI_Datatype basic(void)
{
    return type == DIFF_FLOAT           ? MPI_FLOAT
           : type == DIFF_DOUBLE        ? MPI_DOUBLE
           : type == DIFF_COMPLEX_FLOAT ? MPI_C_FLOAT_COMPLEX
                                        : MPI_C_DOUBLE_COMPLEX;
}

static size_t width(void)
{
    static const size_t widths[] = {4, 8, 8, 16};
    return widths[type];
}

/* One constructor over a datatype; false where it gets too large. */
static bool derived_once(MPI_Datatype *datatype, struct shape *shape)
{
    struct shape old = *shape, new = {{{0}, 0, 0, false}, 0, 0};
    MPI_Datatype from = *datatype;
    int counts[BLOCKS], begins[BLOCKS], blocks = 1 + (int)below(BLOCKS);
    bool fits = true;
    switch (below(4)) {
    case 0:
        for (int i = 0; i < blocks; i++)
            fits = shape_copy(&new, &old, i) && fits;
        MPI_Type_contiguous(blocks, from, datatype);
        break;
    case 1: {
        int length = 1 + (int)below(2), stride = (int)below(4);
        for (int i = 0; i < blocks; i++)
            for (int k = 0; k < length; k++)
                fits = shape_copy(&new, &old, i * stride + k) && fits;
        MPI_Type_vector(blocks, length, stride, from, datatype);
        break;
    }
    case 2:
        for (int i = 0; i < blocks; i++) {
            counts[i] = 1 + (int)below(2);
            begins[i] = (int)below(5);
            for (int k = 0; k < counts[i]; k++)
                fits = shape_copy(&new, &old, begins[i] + k) && fits;
        }
        MPI_Type_indexed(blocks, counts, begins, from, datatype);
        break;
    default:
        new = old;
        new.begin = 0;
        new.end = (int)below((size_t)old.end + 3);
        MPI_Type_create_resized(from, 0, (MPI_Aint)((size_t) new.end *width()), datatype);
    }
    *shape = new;
    if (from != basic())
        MPI_Type_free(&from);
    return fits;
}

/* `count` of a random datatype, and what it lists. */
static bool derived(MPI_Datatype *datatype, int count, struct places *places)
{
    struct shape shape = {{{0}, 1, 1, false}, 0, 1}, all = {{{0}, 0, 0, false}, 0, 0};
    bool fits = true;
    *datatype = basic();
    for (size_t i = below(3); i > 0 && fits; i--)
        fits = derived_once(datatype, &shape);
    if (*datatype != basic())
        MPI_Type_commit(datatype);
    for (int i = 0; i < count && fits; i++)
        fits = shape_copy(&all, &shape, i);
    *places = all.places;
    return fits;
}

static void datatype_free(MPI_Datatype *datatype)
{
    if (*datatype != basic())
        MPI_Type_free(datatype);
}

/* A layout of one of the three kinds, NULL where it got too large. */
static const struct layout *some_layout(struct places *places)
{
    static struct layout layout;
    int counts[BLOCKS], begins[BLOCKS], sizes[BLOCKS], blocks = 1 + (int)below(BLOCKS);
    MPI_Datatype datatypes[BLOCKS];
    size_t kind = below(4), next = 0;
    bool fits = true;
    *places = (struct places){.span = 0};
    for (int i = 0; i < blocks; i++) {
        bool dense = kind == 0 || one_of(2);
        counts[i] = (int)below(4);
        begins[i] = dense ? (int)next : (int)below(9);
        next = (size_t)begins[i] + (size_t)counts[i];
        for (int k = 0; k < counts[i] && kind < 2; k++)
            fits = place_add(places, (size_t)begins[i] + (size_t)k) && fits;
    }
    if (kind < 2) {
        layout = layout_blocks(tape, blocks, counts, kind == 0 ? NULL : begins);
    } else if (kind == 2) {
        fits = derived(&datatypes[0], counts[0], places);
        layout = fits ? layout_datatype(tape, type, counts[0], datatypes[0]) : layout;
        datatype_free(&datatypes[0]);
    } else {
        for (int i = 0; i < blocks; i++) {
            struct places part;
            fits = derived(&datatypes[i], counts[i], &part) && fits;
            for (size_t k = 0; k < part.count; k++)
                fits = place_add(places, (size_t)begins[i] + part.at[k]) && fits;
            begins[i] *= (int)width();
        }
        if (fits)
            layout = layout_blocks_w(tape, type, blocks, counts, begins, datatypes, sizes);
        for (int i = 0; i < blocks; i++)
            datatype_free(&datatypes[i]);
    }
    return fits ? &layout : NULL;
}

static void layout_compare(const struct layout *layout, const struct places *places)
{
    expect(layout->count == places->count, "%zu, not %zu", layout->count, places->count);
    expect(layout->span == places->span, "%zu, not %zu", layout->span, places->span);
    for (size_t i = 0; i < places->count; i++) {
        size_t at = layout->index ? layout->index[i] : i;
        expect(at == places->at[i], "element %zu: %zu, not %zu", i, at, places->at[i]);
    }
}

/* ---- the steps of a program ---- */

static void slice(const struct known *x)
{
    size_t begin = below(x->count + 1), count = below(x->count - begin + 1), index[ROWS];
    for (size_t i = 0; i < count; i++)
        index[i] = begin + i;
    rows_of(x, index, count)->is =
        one_of(2) ? diff_slice(x->is, begin, count) : local_window(x->is, begin, count);
}

static void pad(const struct known *x)
{
    size_t more = below(ROWS - x->count + 1), begin = below(more + 1);
    struct known *y = known_new(x->count + more);
    for (size_t i = 0; i < x->count; i++)
        copy_row(y, begin + i, x, i);
    y->is = local_pad(x->is, begin, x->count + more);
}

static void reshape(const struct known *x)
{
    struct known *y = known_new(x->count);
    memcpy(y->row, x->row, sizeof y->row);
    size_t first = 1 + below(3), second = 1 + below(2);
    first = x->count % first ? 1 : first;
    second = x->count / first % second ? 1 : second;
    size_t shape[] = {first, second, x->count / first / second};
    y->dims = 3;
    memcpy(y->shape, shape, sizeof shape);
    y->is = diff_reshape(x->is, 3, shape);
}

static void concat(void)
{
    const struct known *parts[3];
    struct diff_tensor *tensors[3];
    size_t count = 1 + below(3), total = 0, used = 0;
    for (size_t i = 0; i < count; i++) {
        parts[i] = any();
        if (total + parts[i]->count > ROWS)
            continue;
        total += parts[i]->count;
        tensors[used] = parts[i]->is;
        parts[used++] = parts[i];
    }
    struct known *y = known_new(total);
    for (size_t i = 0, at = 0; i < used; i++)
        for (size_t k = 0; k < parts[i]->count; k++)
            copy_row(y, at++, parts[i], k);
    y->is = diff_concat(used, tensors);
}

/* Elements in any order, some twice. */
static struct known *taken(const struct known *x, size_t count)
{
    size_t *index = arena_take(&tape->arena, ROWS * sizeof *index);
    for (size_t i = 0; i < count; i++)
        index[i] = below(x->count);
    struct known *y = rows_of(x, index, count);
    y->is = one_of(2) ? diff_take(x->is, count, index) : local_take(x->is, index, count);
    return y;
}

static void put(const struct known *x)
{
    size_t total = 1 + below(ROWS), *index = arena_take(&tape->arena, ROWS * sizeof *index);
    struct known *y = known_new(total);
    for (size_t i = 0; i < x->count; i++) {
        index[i] = below(total);
        copy_row(y, index[i], x, i);
    }
    y->is = local_put(x->is, index, total);
}

static void gather_rows(const struct known *x)
{
    size_t width_of = x->shape[0] ? x->count / x->shape[0] : 0, rows[3], count = below(4),
           index[ROWS];
    if (!x->shape[0] || count * width_of > ROWS)
        return;
    for (size_t i = 0; i < count; i++)
        rows[i] = below(x->shape[0]);
    for (size_t i = 0; i < count * width_of; i++)
        index[i] = rows[i / width_of] * width_of + i % width_of;
    struct known *y = rows_of(x, index, count * width_of);
    y->dims = x->dims;
    memcpy(y->shape, x->shape, sizeof y->shape);
    y->shape[0] = count;
    y->is = diff_gather_rows(x->is, count, rows);
}

static void mask(const struct known *x)
{
    double factors[ROWS];
    struct known *y = known_new(x->count);
    y->dims = x->dims;
    memcpy(y->shape, x->shape, sizeof y->shape);
    for (size_t i = 0; i < x->count; i++) {
        factors[i] = (double)below(4) - 1;
        for (size_t k = 0; k < COLUMNS; k++)
            y->row[i][k] = factors[i] * x->row[i][k];
    }
    y->is = local_mask(x->is, factors);
}

static void layout_taken(const struct known *x)
{
    struct places places;
    const struct layout *layout = some_layout(&places);
    if (!layout)
        return;
    layout_compare(layout, &places);
    if (places.span > x->count)
        return;
    struct known *y = rows_of(x, places.at, places.count);
    y->is = layout_take(x->is, layout);
    bool same = places.count == x->count;
    for (size_t i = 0; i < places.count; i++)
        same = same && places.at[i] == i;
    if (same && !layout->index) { /* x itself, in its shape */
        expect(y->is == x->is, "a layout of all is made anew");
        y->dims = x->dims;
        memcpy(y->shape, x->shape, sizeof y->shape);
    }
}

static void layout_received(const struct known *x)
{
    struct places places;
    const struct layout *found = some_layout(&places);
    if (!found || places.twice || x->count == 0 || made_count + 2 > sizeof made / sizeof *made)
        return;
    struct layout layout = *found;
    const struct known *dense = taken(x, places.count), *into = one_of(3) ? NULL : any();
    if (into && into->count < places.span)
        into = NULL;
    struct known *y = known_new(into ? into->count : places.span);
    for (size_t i = 0; i < y->count && into; i++)
        copy_row(y, i, into, i);
    for (size_t i = 0; i < places.count; i++) {
        memset(y->row[places.at[i]], 0, sizeof y->row[0]);
        copy_row(y, places.at[i], dense, i);
    }
    if (into) {
        y->dims = into->dims;
        memcpy(y->shape, into->shape, sizeof y->shape);
    }
    y->is = layout_put(dense->is, &layout, into ? into->is : NULL);
}

static void step(void)
{
    const struct known *x = any();
    switch (below(10)) {
    case 0:
        slice(x);
        break;
    case 1:
        pad(x);
        break;
    case 2:
        reshape(x);
        break;
    case 3:
        concat();
        break;
    case 4:
        if (x->count)
            (void)taken(x, below(9));
        break;
    case 5:
        put(x);
        break;
    case 6:
        gather_rows(x);
        break;
    case 7:
        mask(x);
        break;
    case 8:
        layout_taken(x);
        break;
    default:
        layout_received(x);
    }
}

/* ---- a program, and what it must give ---- */

static bool is_complex(void)
{
    return type >= DIFF_COMPLEX_FLOAT;
}

static size_t parts(void)
{
    return is_complex() ? 2 : 1;
}

/* Numbers of COLUMNS values, of which a column has `parts` each. */
struct numbers {
    double of[COLUMNS][2];
};

static struct numbers some_numbers(void)
{
    struct numbers numbers;
    for (size_t i = 0; i < COLUMNS; i++)
        for (size_t p = 0; p < 2; p++)
            numbers.of[i][p] = (double)below(9) - 4;
    return numbers;
}

/* Those of an input, as a tensor. */
static struct diff_tensor *tensor_of(const struct numbers *numbers, const struct known *x,
                                     size_t first, bool variable)
{
    struct diff_tensor *made_of = variable ? diff_leaf(tape, type, x->dims, x->shape, NULL)
                                           : diff_constant(tape, type, x->dims, x->shape, NULL);
    for (size_t i = 0; i < x->count * parts(); i++)
        tensor_part_set(made_of, i, numbers->of[first + i / parts()][i % parts()]);
    return made_of;
}

static void compare(const char *what, const struct diff_tensor *got, const struct known *y,
                    const struct numbers *numbers)
{
    for (size_t i = 0; i < y->count * parts(); i++) {
        double value = tensor_part(got, i), expected = 0;
        for (size_t k = 0; k < COLUMNS; k++)
            expected += y->row[i / parts()][k] * numbers->of[k][i % parts()];
        expect(value == expected, "%s, part %zu: %g, not %g", what, i, value, expected);
    }
    expect(got->count == y->count && got->dims == y->dims, "%s: %zu values in %zu dimensions", what,
           got->count, got->dims);
    for (size_t i = 0; i < y->dims && got->dims == y->dims; i++)
        expect(got->shape[i] == y->shape[i], "%s: shape %zu", what, i);
}

/* The transposed matrix times the matrix, times numbers. */
static struct numbers transposed(const struct known *y, const struct numbers *numbers)
{
    struct numbers result = {{{0}}};
    for (size_t i = 0; i < y->count; i++)
        for (size_t p = 0; p < 2; p++) {
            double value = 0;
            for (size_t k = 0; k < COLUMNS; k++)
                value += y->row[i][k] * numbers->of[k][p];
            for (size_t k = 0; k < COLUMNS; k++)
                result.of[k][p] += y->row[i][k] * value;
        }
    return result;
}

static void gradient_compare(const char *what, struct diff_tensor *const *inputs,
                             const size_t *first, const struct numbers *expected)
{
    for (size_t n = 0; n < INPUTS; n++) {
        struct diff_tensor *gradient = diff_gradient_tensor(inputs[n]);
        for (size_t i = 0; i < inputs[n]->count * parts(); i++) {
            double value = gradient ? tensor_part(gradient, i) : 0;
            double wanted = expected->of[first[n] + i / parts()][i % parts()];
            expect(value == wanted, "%s of input %zu, part %zu: %g, not %g", what, n, i, value,
                   wanted);
        }
        expect(!gradient || tensor_same_shape(gradient, inputs[n]), "%s: its shape", what);
    }
}

static void program(unsigned number)
{
    struct numbers values = some_numbers(), direction = some_numbers(), seed;
    struct diff_tensor *inputs[INPUTS], *tangents[INPUTS];
    size_t first[INPUTS + 1] = {0, 1 + below(COLUMNS - 1), COLUMNS};
    type = (enum diff_type)(number % 4);
    made_count = 0;
    for (size_t n = 0; n < INPUTS; n++) {
        struct known *x = known_new(first[n + 1] - first[n]);
        if (one_of(2) && x->count % 2 == 0) {
            x->dims = 2;
            x->shape[0] = 2;
            x->shape[1] = x->count / 2;
        }
        for (size_t i = 0; i < x->count; i++)
            x->row[i][first[n] + i] = 1;
        inputs[n] = x->is = tensor_of(&values, x, first[n], true);
        tangents[n] = tensor_of(&direction, x, first[n], false);
    }
    while (made_count < INPUTS + STEPS)
        step();
    const struct known *y = &made[made_count - 1];
    for (size_t i = 0; i < made_count; i++)
        compare("values", made[i].is, &made[i], &values);
    diff_no_grad_begin(tape);
    diff_jvp(tape, INPUTS, inputs, tangents);
    diff_no_grad_end(tape);
    for (size_t i = 0; i < made_count; i++)
        compare("tangents", diff_tangent(made[i].is), &made[i], &direction);
    struct diff_tensor *loss = diff_scale(diff_dot(y->is, y->is), 0.5);
    if (!diff_requires_gradient(loss))
        return;
    bool again = number / 4 % 2;
    diff_backward_from(tape, 1, &loss, NULL, again ? DIFF_GRAPH : 0);
    seed = transposed(y, &values);
    gradient_compare("gradient", inputs, first, &seed);
    if (!again)
        return;
    loss = NULL;
    for (size_t n = 0; n < INPUTS; n++) {
        struct diff_tensor *gradient = diff_gradient_tensor(inputs[n]);
        struct diff_tensor *term = gradient ? diff_dot(gradient, tangents[n]) : NULL;
        loss = loss && term ? diff_add(loss, term) : loss ? loss : term;
        diff_gradient_clear(inputs[n]);
    }
    if (!loss || !diff_requires_gradient(loss))
        return;
    diff_backward(loss);
    seed = transposed(y, &direction);
    gradient_compare("second derivative", inputs, first, &seed);
}

static void programs(int rank, int size)
{
    (void)rank, (void)size;
    tape = diff_tape_new(MPI_COMM_WORLD);
    struct dice_seeds seeds = dice_seeds(PROGRAMS);
    for (unsigned long long i = 0; i < seeds.count; i++) {
        dice = seeds.first + i;
        program((unsigned)(seeds.first + i));
        diff_tape_clear(tape);
    }
    diff_tape_free(tape);
}

int main(void)
{
    struct world_result result = world_try(world_options(1), programs);
    tap_test_str(result.failed ? result.text : world_outcomes[result.outcome], "finished", TAP_HERE,
                 "random layouts and shapes are the linear maps they stand for (%d comparisons)",
                 result.looked_at);
    return tap_done();
}
