/* The gradient check of formulas: what stands in for a program is a few lines that fill in a probe's rows, so
 * that a check takes some microseconds for a world, and everything it should say is known: which element of which
 * input on which rank is wrong, by how much, from which point on, in which circumstances; what tangents, repetitions,
 * Taylor's remainders, the error over the step and the map of ranks are. Random formulas of several ranks, inputs
 * and sorts, right and with one defect of each kind. SIMRUN_SOAK=N tries N formulas of each, from SIMRUN_SEED on. */
#include "collectives/gradcheck/gradcheck.h"
#include "tests/dice.h"
#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 4, INPUTS_MAX = 3, COUNT_MAX = 4 };
enum shape { SINE, GROWTH, CUBE, BEND, SHAPES };
enum sort {
    ON_TAPE,
    CARRIED,
    MARKED,
    STEPPED,
    COPIED,
    SORTS
}; /* carried, stepped: with tangents */

enum defect {
    NONE,
    FACTOR,      /* one part of one gradient */
    TINY_FACTOR, /* which only tangents see */
    NO_NUMBER,
    NEVER, /* an input without a gradient */
    AT_OTHER_POINTS,
    WITH_LATE_MESSAGES,
    WITH_STALE_MEMORY,
    OF_ONE_LOSS, /* one rank's loss by one rank's input */
    IN_REPETITIONS,
    OTHERWISE_EVERY_TIME,
    NOISY, /* right, with noise */
    BROKEN_BASE,
    BROKEN_ONCE, /* a world that says it may be run again */
    NO_OBJECTIVE,
    NO_OBJECTIVES,
    AT_A_BEND,     /* right: the slope to one side, or the middle */
    BESIDE_A_BEND, /* wrong: neither, nor between */
    DEFECTS
};
static const char *const defect_names[DEFECTS] = {"none",
                                                  "a factor",
                                                  "a tiny factor",
                                                  "no number",
                                                  "no gradient",
                                                  "at other points",
                                                  "with late messages",
                                                  "with memory overwritten",
                                                  "of one loss",
                                                  "in repetitions",
                                                  "another function every time",
                                                  "noise",
                                                  "a program that fails",
                                                  "a program that is run again",
                                                  "no objective of one rank",
                                                  "no objective",
                                                  "the slope beside a bend",
                                                  "no slope at a bend"};

struct formula {
    unsigned long long seed;
    enum defect defect;
    enum sort sort;
    enum shape shape;
    bool single;
    int ranks, inputs, count;
    double start[RANKS_MAX][INPUTS_MAX][COUNT_MAX], weight[RANKS_MAX][INPUTS_MAX][COUNT_MAX],
        coupling;
    int rank, input, part, loss; /* of the defect */
    double factor;
    int runs;
    double bent; /* what the gradient takes for the slope of |x| at 0 */
};

struct values {
    double of[RANKS_MAX][INPUTS_MAX][COUNT_MAX];
};

static int wrong_count, unsteady;

static void look(const struct formula *formula, bool right, const char *what)
{
    if (!right && wrong_count++ < 5)
        tap_note("seed %llu, %s, sort %d, shape %d, %d ranks, %d inputs of %d%s, defect of rank "
                 "%d, input %d, part %d: %s",
                 formula->seed, defect_names[formula->defect], (int)formula->sort,
                 (int)formula->shape, formula->ranks, formula->inputs, formula->count,
                 formula->single ? " floats" : "", formula->rank, formula->input, formula->part,
                 what);
}

/* ---- the formula ---- */

static double shaped(enum shape shape, double x)
{
    return shape == SINE     ? sin(x)
           : shape == GROWTH ? exp(x / 2)
           : shape == CUBE   ? x * x * x / 3
                             : fabs(x);
}

static double slope(const struct formula *formula, double x)
{
    enum shape shape = formula->shape;
    if (shape == BEND && x == 0)
        return formula->bent;

    return shape == SINE     ? cos(x)
           : shape == GROWTH ? exp(x / 2) / 2
           : shape == CUBE   ? x * x
           : x < 0           ? -1
                             : 1;
}

static bool has_tangents(const struct formula *formula)
{
    return formula->sort == CARRIED || formula->sort == STEPPED;
}

static bool is_marked(const struct formula *formula)
{
    return formula->sort == MARKED || formula->sort == STEPPED;
}

/* Replicated values have no neighbours. */
static double coupling(const struct formula *formula)
{
    return formula->sort == COPIED ? 0 : formula->coupling;
}

static double loss_of(const struct formula *formula, const struct values *x, int rank)
{
    int next = (rank + 1) % formula->ranks;
    double sum = 0;
    for (int i = 0; i < formula->inputs; i++)
        for (int k = 0; k < formula->count; k++)
            sum += formula->weight[rank][i][k] * shaped(formula->shape, x->of[rank][i][k]) +
                   coupling(formula) * x->of[rank][i][k] * x->of[next][i][k];
    return sum;
}

/* What a rank's loss gives to the gradient of its own and its neighbour's values. */
static void slopes_add(const struct formula *formula, const struct values *x, int rank,
                       struct values *gradient, double factor)
{
    int next = (rank + 1) % formula->ranks;
    for (int i = 0; i < formula->inputs; i++)
        for (int k = 0; k < formula->count; k++) {
            gradient->of[rank][i][k] +=
                factor * (formula->weight[rank][i][k] * slope(formula, x->of[rank][i][k]) +
                          coupling(formula) * x->of[next][i][k]);
            gradient->of[next][i][k] += factor * coupling(formula) * x->of[rank][i][k];
        }
}

static double rounded(const struct formula *formula, double value)
{
    return formula->single ? (double)(float)value : value;
}

static void push(const struct formula *formula, const struct probe_push *pushes, size_t count,
                 struct values *x)
{
    for (size_t p = 0; p < count; p++)
        for (int r = 0; r < formula->ranks; r++)
            for (int k = 0; k < formula->count; k++) {
                double *value = &x->of[r][pushes[p].input][k];
                bool all = pushes[p].part == SIZE_MAX;
                if (pushes[p].rank != r && pushes[p].rank >= 0)
                    continue;
                if (all || pushes[p].part == (size_t)k)
                    *value =
                        rounded(formula, *value + (all ? pushes[p].step * pushes[p].direction[k]
                                                       : pushes[p].step));
            }
}

static struct values gradients_of(struct formula *formula, const struct diff_probe *probe,
                                  const struct values *x, bool moved)
{
    struct values gradient = {.of = {{{0}}}};
    double seed = probe->factor != 0 ? probe->factor : 1;
    for (int r = 0; r < formula->ranks; r++)
        if (probe->seed_rank < 0 || probe->seed_rank == r)
            slopes_add(formula, x, r, &gradient, seed);
    double *one = &gradient.of[formula->rank][formula->input][formula->part];
    enum defect defect = formula->defect;
    bool wrong = defect == FACTOR || defect == TINY_FACTOR ||
                 (defect == AT_OTHER_POINTS && moved) ||
                 (defect == WITH_LATE_MESSAGES && probe->adverse) ||
                 (defect == WITH_STALE_MEMORY && probe->stale_memory);
    if (wrong)
        *one *= 1 + formula->factor;
    if (defect == NO_NUMBER)
        *one = NAN;
    if (defect == OF_ONE_LOSS && (probe->seed_rank < 0 || probe->seed_rank == formula->loss))
        *one += seed;
    if (defect == IN_REPETITIONS && probe->repeat == 2)
        *one += 0.25;
    return gradient;
}

static struct probe_team team_of(const struct formula *formula)
{
    return formula->sort == COPIED ? (struct probe_team){0, formula->ranks}
                                   : (struct probe_team){0};
}

static void inputs_fill(const struct formula *formula, struct diff_probe_rank *row, int rank,
                        const struct values *x, const struct values *gradient)
{
    row->inputs = calloc((size_t)formula->inputs, sizeof *row->inputs);
    row->input_count = (size_t)formula->inputs;
    for (int i = 0; i < formula->inputs; i++) {
        struct probe_input *input = &row->inputs[i];
        char name[] = {'x', (char)('0' + i), '\0'};
        *input = (struct probe_input){.name = strdup(name),
                                      .type = formula->single ? DIFF_FLOAT : DIFF_DOUBLE,
                                      .count = (size_t)formula->count,
                                      .epoch = !is_marked(formula),
                                      .team = team_of(formula),
                                      .marked = is_marked(formula),
                                      .steps = formula->sort == STEPPED,
                                      .first_pass = !is_marked(formula)};
        input->values = calloc(COUNT_MAX, sizeof *input->values);
        memcpy(input->values, x->of[rank][i], (size_t)formula->count * sizeof *input->values);
        if (formula->defect == NEVER && rank == formula->rank && i == formula->input)
            continue;
        input->gradient = calloc(COUNT_MAX, sizeof *input->gradient);
        memcpy(input->gradient, gradient->of[rank][i],
               (size_t)formula->count * sizeof *input->gradient);
        if (is_marked(formula)) { /* the last input first */
            input->gradient_order = (uint32_t)(formula->inputs - i);
            input->gradient_position = 10 * input->gradient_order;
        }
    }
}

static double tangent_of(const struct formula *formula, const struct diff_probe *probe,
                         const struct values *x, int rank)
{
    struct values gradient = {.of = {{{0}}}};
    double sum = 0;
    slopes_add(formula, x, rank, &gradient, probe->factor != 0 ? probe->factor * probe->factor : 1);
    for (size_t p = 0; p < probe->push_count; p++)
        for (int k = 0; k < formula->count; k++)
            sum += gradient.of[probe->pushes[p].rank][probe->pushes[p].input][k] *
                   probe->pushes[p].direction[k];
    return probe->factor != 0 ? sum / probe->factor : sum;
}

static double noise_of(const struct values *x)
{
    uint64_t state = 5;
    for (size_t i = 0; i < sizeof x->of / sizeof ***x->of; i++) {
        uint64_t bits;
        memcpy(&bits, (const double *)x->of + i, sizeof bits);
        state = state * 31 + bits;
    }
    return (double)dice_below(&state, 2001) / 1000 - 1;
}

static int run(void *context, struct diff_probe *probe, int worker)
{
    struct formula *formula = context;
    struct values x, gradient = {.of = {{{0}}}};
    uint32_t epoch = !is_marked(formula);
    bool base = probe->mode == PROBE_BASE;
    (void)worker;
    formula->runs++;
    if (formula->defect == BROKEN_BASE ||
        (formula->defect == BROKEN_ONCE && formula->runs % 3 == 0))
        return formula->defect == BROKEN_BASE ? 1 : DIFF_RUN_AGAIN;
    memcpy(x.of, formula->start, sizeof x.of);
    push(formula, probe->shifts, probe->shift_count, &x);
    bool moved = fabs(x.of[0][0][0] - formula->start[0][0][0]) > 1e-5;
    if (base)
        gradient = gradients_of(formula, probe, &x, moved);
    else
        push(formula, probe->pushes, probe->push_count, &x);
    for (int r = 0; r < formula->ranks; r++) {
        struct diff_probe_rank *row = &probe->rows[r];
        if (base)
            inputs_fill(formula, row, r, &x, &gradient);
        if (formula->defect == NO_OBJECTIVES ||
            (formula->defect == NO_OBJECTIVE && r == formula->rank))
            continue;
        row->epoch_count = epoch + 1;
        row->objectives = calloc(row->epoch_count, sizeof *row->objectives);
        struct probe_objective *objective = &row->objectives[epoch];
        double value = loss_of(formula, &x, r);
        if (formula->defect == NOISY)
            value += 1e-4 * noise_of(&x);
        if (formula->defect == OTHERWISE_EVERY_TIME)
            value *= 1.1 + 0.1 * sin(formula->runs);
        objective->terms = calloc(1, sizeof *objective->terms);
        objective->terms[0] = (struct probe_term){.value = value, .pass = epoch};
        if (probe->tangent)
            objective->terms[0].tangent = tangent_of(formula, probe, &x, r);
        row->tangent_missing = probe->tangent && !has_tangents(formula);
        objective->term_count = 1;
        objective->value = value;
        objective->magnitude = fabs(value);
        objective->team = team_of(formula);
        objective->present = true;
    }
    return 0;
}

/* ---- drawing one ---- */

static double between(uint64_t *dice, double low, double high)
{
    return low + (high - low) * (double)dice_below(dice, 1 << 20) / (1 << 20);
}

static struct formula formula_new(unsigned long long seed, enum defect defect)
{
    uint64_t dice = seed * 100 + defect;
    struct formula formula = {.seed = seed, .defect = defect};
    formula.sort = (enum sort)dice_below(&dice, SORTS);
    formula.shape = (enum shape)dice_below(&dice, SHAPES);
    formula.single = dice_below(&dice, 4) == 0;
    formula.ranks = 1 + (int)dice_below(&dice, RANKS_MAX);
    formula.inputs = 1 + (int)dice_below(&dice, INPUTS_MAX);
    formula.count = 1 + (int)dice_below(&dice, COUNT_MAX);
    if (defect == NO_OBJECTIVE || defect == OF_ONE_LOSS)
        formula.ranks = 2 + formula.ranks / 2;
    if (defect == NO_OBJECTIVE)
        formula.sort = MARKED;
    if (defect == NO_OBJECTIVES || defect == AT_A_BEND || defect == BESIDE_A_BEND)
        formula.sort = formula.sort < MARKED ? ON_TAPE : MARKED;
    if (defect == OF_ONE_LOSS)
        formula.sort = formula.sort == CARRIED ? CARRIED : ON_TAPE;
    if (defect == TINY_FACTOR) {
        formula.sort = formula.sort < MARKED ? CARRIED : STEPPED;
        formula.single = false;
    }
    if (defect == WITH_STALE_MEMORY || defect == WITH_LATE_MESSAGES)
        formula.count = 1; /* one row is all that is looked at of an input there */
    if (is_marked(&formula) || defect == NOISY)
        formula.single = false; /* marks are of doubles */
    if ((formula.shape == BEND && defect != NONE) || defect == AT_OTHER_POINTS ||
        defect == WITH_STALE_MEMORY || defect == WITH_LATE_MESSAGES)
        formula.single =
            false; /* of sums, and beside a bend, rounding leaves too little to be seen */
    for (int i = 0; i < formula.inputs; i++)
        for (int k = 0; k < formula.count; k++)
            for (int r = 0; r < formula.ranks; r++) {
                double value = between(&dice, 0.3, 1.4), sign = dice_below(&dice, 2) ? 1 : -1;
                double weight = between(&dice, 0.5, 2);
                bool copy = formula.sort == COPIED && r > 0;
                formula.start[r][i][k] =
                    copy ? formula.start[0][i][k] : rounded(&formula, sign * value);
                formula.weight[r][i][k] = copy ? formula.weight[0][i][k] : weight;
            }
    formula.coupling = between(&dice, 0.1, 0.3);
    formula.rank = (int)dice_below(&dice, (uint32_t)formula.ranks);
    formula.input = (int)dice_below(&dice, (uint32_t)formula.inputs);
    formula.part = (int)dice_below(&dice, (uint32_t)formula.count);
    formula.loss =
        dice_below(&dice, 2) ? formula.rank : (formula.rank + formula.ranks - 1) % formula.ranks;
    formula.factor = defect == TINY_FACTOR ? 1e-8 : between(&dice, 0.3, 1);
    if (dice_below(&dice, 2))
        formula.factor = -formula.factor;
    if (defect == AT_A_BEND || defect == BESIDE_A_BEND) {
        formula.shape = BEND;
        formula.single = false;
        formula.start[formula.rank][formula.input][formula.part] = 0;
        formula.bent = (double)dice_below(&dice, 3) - 1;
        if (defect == BESIDE_A_BEND)
            formula.bent = formula.factor < 0 ? -1.5 : 1.5;
    }
    return formula;
}

/* ---- what is said ---- */

static bool is_element(const struct gradcheck_row *row, const char *where)
{
    return row->check.index >= 0 &&
           (where[0] ? strstr(row->name, where) != NULL : !strchr(row->name, ' '));
}

static bool is_of_defect(const struct formula *formula, const struct gradcheck_row *row)
{
    bool rank = (int)row->check.rank == formula->rank;
    return rank && row->name[0] == 'x' && row->name[1] - '0' == formula->input &&
           row->check.index <= formula->part &&
           formula->part < row->check.index + (int64_t)row->check.elements;
}

/* The one wrong element is told, with its numbers, and no other. */
static void defect_is_told(const struct formula *formula, const struct gradcheck_result *result,
                           const char *where)
{
    int told = 0, others = 0;
    for (size_t i = 0; i < result->row_count; i++) {
        const struct gradcheck_row *row = &result->rows[i];
        bool wrong = trace_gradient_wrong(&row->check);
        if (!is_element(row, where) || !wrong)
            continue;
        told += is_of_defect(formula, row);
        others += !is_of_defect(formula, row);
        bool seen = formula->defect == NO_NUMBER ? isnan(row->check.analytic)
                                                 : row->check.error > row->check.tolerance;
        look(formula, seen, "a wrong row is wrong by its numbers");
    }
    look(formula, result->failed > 0, "it fails");
    look(formula, told == 1, "the element is told");
    look(formula, !others, "no other element is");
}

static void all_is_right(const struct formula *formula, const struct gradcheck_result *result)
{
    size_t elements = (size_t)(formula->ranks * formula->inputs * formula->count), seen = 0,
           directions = 0, whole = 0;
    for (size_t i = 0; i < result->row_count; i++) {
        const struct gradcheck_row *row = &result->rows[i];
        look(formula, row->check.ok != !!row->check.undecided, "no row is wrong");
        look(formula, row->check.ok || formula->single, "every row is right");
        seen += is_element(row, "");
        directions += strncmp(row->name, "direction", 9) == 0;
        whole += strcmp(row->name, formula->sort == STEPPED ? "complex step" : "forward mode") == 0;
    }
    look(formula, seen == elements, "each element has a row");
    look(formula, directions == 1, "one direction has one");
    look(formula, whole == has_tangents(formula),
         "tangents of the whole gradient have one where there are any");
    look(formula, !result->failed && !result->culprit.found && !result->culprit.text[0],
         "nothing fails, nobody is blamed");
    look(formula, result->points == 3 && result->points_outside == 0, "three points are looked at");
}

static void map_is_right(const struct formula *formula, const struct gradcheck_result *result)
{
    bool has_map = !is_marked(formula) && formula->sort != COPIED;
    look(formula, !result->heat_map == !has_map,
         "a map where losses and inputs are each rank's own");
    for (int s = 0; result->heat_map && s < formula->ranks; s++)
        for (int r = 0; r < formula->ranks; r++) {
            bool wrong = formula->defect == OF_ONE_LOSS && s == formula->loss && r == formula->rank;
            look(formula, (result->heat_map[s * formula->ranks + r] > 1) == wrong,
                 "a field of the map");
        }
}

static void curves_are_right(const struct formula *formula, const struct gradcheck_result *result)
{
    const struct gradcheck_sweep *sweep = &result->sweep;
    bool curved = formula->shape == SINE || formula->shape == GROWTH || formula->shape == CUBE;
    bool known = false;
    for (size_t i = 0; i < result->row_count; i++) {
        const struct gradcheck_row *row = &result->rows[i];
        known = known || (is_element(row, "") && (int)row->check.rank == sweep->rank &&
                          row->check.index == sweep->index && !strcmp(row->name, sweep->name) &&
                          row->check.step == sweep->chosen);
    }
    look(formula, known, "the sweep is of an element that was looked at, and knows its step");
    look(formula, sweep->count > 10 && result->taylor.count == 8, "both curves are there");
    for (size_t i = 1; i < sweep->count; i++)
        look(formula, sweep->step[i] <= sweep->step[i - 1], "steps shrink");
    if (formula->single || !curved)
        return;
    look(formula, result->taylor.orders[0] > 1.5 && result->taylor.orders[0] < 3.2,
         "Taylor's first remainder falls with the square");
    look(formula, result->taylor.orders[1] > 2.5 && result->taylor.orders[1] < 4,
         "and the second with the third power");
    for (size_t i = 3; i < 7; i++)
        if (sweep->error[i] > 1e-9)
            look(formula, fabs(log2(sweep->error[i - 1] / sweep->error[i]) - 2) < 0.3,
                 "a central difference's error falls with the square");
}

static void repetitions_are_right(const struct formula *formula,
                                  const struct gradcheck_result *result)
{
    look(formula, result->repeat.worlds == 3 && result->repeat.bound == 4096.0 * formula->ranks,
         "three repetitions");
    if (formula->defect != IN_REPETITIONS) {
        look(formula, result->repeat.spread == 0, "all alike");
        return;
    }
    struct diff_probe plain = {.seed_rank = -1};
    struct formula right = *formula;
    struct values x, gradient;
    double largest = 0;
    memcpy(x.of, formula->start, sizeof x.of);
    gradient = gradients_of(&right, &plain, &x, false);
    for (int k = 0; k < formula->count; k++)
        largest = fmax(largest, fabs(gradient.of[formula->rank][formula->input][k]));
    double wanted = 0.25 / (largest * (formula->single ? 0x1p-23 : 0x1p-52));
    look(formula, fabs(result->repeat.spread - wanted) < 1e-3 * wanted,
         "how far a repetition is off");
    look(formula,
         result->repeat.rank == formula->rank && result->repeat.index == formula->part &&
             result->repeat.name[1] - '0' == formula->input,
         "and where");
}

/* Rows of the element in question that one-sided differences have judged so. */
static int bends_of(const struct formula *formula, const struct gradcheck_result *result,
                    bool right)
{
    int seen = 0;
    for (size_t i = 0; i < result->row_count; i++) {
        const struct gradcheck_row *row = &result->rows[i];
        seen += is_element(row, "") && is_of_defect(formula, row) &&
                !strcmp(row->check.method, "one-sided") && row->check.ok == right &&
                trace_gradient_wrong(&row->check) != right;
    }
    return seen;
}

static void judge(struct formula *formula)
{
    struct diff_runner runner = {run, formula, formula->ranks, 1};
    struct gradcheck_options options = gradcheck_options_default();
    struct gradcheck_result result;
    options.heat_map = options.taylor = options.sweep = true;
    options.repeat = 3;
    look(formula, gradcheck_run(&runner, &options, &result) == 0, "the check can be done");
    look(formula, result.base_failed == (formula->defect == BROKEN_BASE),
         "whether the program itself fails");
    if (formula->defect == BROKEN_BASE || formula->defect == BROKEN_ONCE)
        look(formula, formula->defect == BROKEN_ONCE || (formula->runs == 1 && !result.row_count),
             "a program that fails is run once");
    else
        look(formula, formula->runs == result.worlds && !result.broken_worlds,
             "all worlds are counted");
    struct gradcheck_culprit *culprit = &result.culprit;
    const char before[] = {'x', (char)('1' + formula->input), '\0'},
               name[] = {'x', (char)('0' + formula->input), '\0'};
    bool here = formula->rank == culprit->rank && !strcmp(culprit->name, name);
    switch (formula->defect) {
    case NONE:
        all_is_right(formula, &result);
        map_is_right(formula, &result);
        curves_are_right(formula, &result);
        repetitions_are_right(formula, &result);
        break;
    case FACTOR:
    case TINY_FACTOR:
    case NO_NUMBER:
        defect_is_told(formula, &result, "");
        if (is_marked(formula)) {
            look(formula, culprit->found && culprit->marked && here,
                 "the marked gradient is blamed");
            look(formula,
                 !strcmp(culprit->before, formula->input + 1 < formula->inputs ? before : ""),
                 "and which was right before");
            look(formula, (int)culprit->position == 10 * (formula->inputs - formula->input),
                 "and what came between them");
        } else {
            look(formula, culprit->text[0] && !culprit->found, "no operation can be named");
        }
        break;
    case NEVER:
        look(formula, result.failed && culprit->found && culprit->missing && here,
             "the input without a gradient is told");
        look(formula, (strstr(culprit->text, "was marked") != NULL) == is_marked(formula),
             "in its own words");
        break;
    case AT_OTHER_POINTS:
        look(formula, result.points == 2, "the first other point is enough");
        look(formula, result.failed == 1u + has_tangents(formula),
             "the input and the whole gradient fail");
        break;
    case WITH_LATE_MESSAGES:
    case WITH_STALE_MEMORY:
        look(formula, result.failed > 0 && culprit->found && here,
             "the gradient that depends on it is blamed");
        look(formula,
             strstr(culprit->text, formula->defect == WITH_LATE_MESSAGES ? "messages happened"
                                                                         : "memory keeps") != NULL,
             "and on what");
        break;
    case OF_ONE_LOSS:
        defect_is_told(formula, &result, "");
        map_is_right(formula, &result);
        break;
    case IN_REPETITIONS:
        look(formula, !result.failed, "only repetitions differ");
        repetitions_are_right(formula, &result);
        break;
    case OTHERWISE_EVERY_TIME:
        unsteady += result.unsteady;
        look(formula, !result.failed, "what is another function every time accuses nobody");
        break;
    case NOISY:
        look(formula, !result.failed, "noise accuses nobody");
        break;
    case BROKEN_ONCE:
        look(formula, !result.failed && !result.broken_worlds && formula->runs > result.worlds,
             "what is run again is right");
        break;
    case NO_OBJECTIVES:
        look(formula, (result.failed > 0) == is_marked(formula),
             "marks without an objective are wrong");
        look(formula, !is_marked(formula) || strstr(culprit->text, "no rank marked an objective"),
             "which is told");
        for (size_t i = 0; i < result.row_count; i++) {
            const char *doubt = result.rows[i].check.undecided;
            look(formula, is_marked(formula) || (doubt && !strcmp(doubt, "objective")),
                 "a gradient without a loss is given by the program");
        }
        break;
    case AT_A_BEND:
        look(formula, !result.failed && bends_of(formula, &result, true) == (formula->bent != 0),
             "a slope beside a bend is right");
        break;
    case BESIDE_A_BEND:
        look(formula,
             is_marked(formula) || (result.failed && bends_of(formula, &result, false) == 1),
             "what is no slope at a bend is wrong");
        break;
    case NO_OBJECTIVE:
        look(formula, result.failed && strstr(culprit->text, "marked no objective") != NULL,
             "who marked none is told");
        break;
    default:
        break;
    }
    gradcheck_release(&result);
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(24);
    for (int defect = 0; defect < DEFECTS; defect++) {
        wrong_count = 0;
        for (unsigned long long i = 0; i < seeds.count; i++) {
            struct formula formula = formula_new(seeds.first + i, (enum defect)defect);
            judge(&formula);
        }
        /* Of very many some are at the border of what differences see: a second derivative along the direction
         * that is almost zero, a defect of which a stretch shows nothing. */
        tap_ok(wrong_count <= (int)seeds.count / 100, "what is said of formulas with a defect: %s",
               defect_names[defect]);
    }
    tap_ok(unsteady > (int)seeds.count / 3,
           "a function that is another one every time is often seen to be: %d times", unsteady);
    return tap_done();
}
