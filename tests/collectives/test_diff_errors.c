/* Wrong use ends the rank with a finding that names the place; nothing is computed from it. */
#include "tests/diff_world.h"

enum { N = 2 };

#define TAPE() struct diff_tape *tape_ = diff_tape_new(MPI_COMM_WORLD)

static struct diff_tensor *input(struct diff_tape *on, const char *name)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return diff_input(on, name, DIFF_DOUBLE, 1, (size_t[]){N}, (double[]){1.0 + rank, 2.0});
}

static void twice_without_retain(void)
{
    TAPE();
    struct diff_tensor *loss = diff_sum(diff_exp(input(tape_, "x")));
    diff_backward(loss);
    diff_backward(loss);
    diff_tape_free(tape_);
}

static void twice_with_retain(void)
{
    TAPE();
    struct diff_tensor *loss = diff_sum(diff_exp(input(tape_, "x")));
    diff_backward_from(tape_, 1, &loss, NULL, DIFF_RETAIN);
    diff_backward(loss);
    diff_tape_free(tape_);
}

static void changed_after_saving(void)
{
    TAPE();
    struct diff_tensor *x = diff_scale(input(tape_, "x"), 2);
    struct diff_tensor *loss = diff_sum(diff_mul(x, x));
    ((double *)diff_values_modify(x))[0] = 7;
    diff_backward(loss);
    diff_tape_free(tape_);
}

static void changed_but_not_saved(void)
{
    TAPE();
    struct diff_tensor *x = diff_scale(input(tape_, "x"), 2);
    struct diff_tensor *loss = diff_sum(diff_add(x, x));
    ((double *)diff_values_modify(x))[0] = 7;
    diff_backward(loss);
    diff_tape_free(tape_);
}

static void result_changed_but_not_saved(void)
{
    TAPE();
    struct diff_tensor *x = diff_scale(input(tape_, "x"), 2);
    struct diff_tensor *y = diff_mul(x, x); /* keeps what it multiplied */
    struct diff_tensor *loss = diff_sum(y);
    ((double *)diff_values_modify(y))[0] = 7;
    diff_backward(loss);
    diff_tape_free(tape_);
}

static void operand_changed_but_not_saved(void)
{
    TAPE();
    struct diff_tensor *x = diff_scale(input(tape_, "x"), 2);
    struct diff_tensor *loss = diff_sum(diff_exp(x)); /* keeps its result */
    ((double *)diff_values_modify(x))[0] = 7;
    diff_backward(loss);
    diff_tape_free(tape_);
}

/* Values that were changed before anybody saved them: operand or result, of which operation. */
static int changed_first;

static void changed_before_saving(void)
{
    TAPE();
    struct diff_tensor *x = diff_scale(input(tape_, "x"), 2), *z = diff_scale(input(tape_, "z"), 3);
    struct diff_tensor *changed = changed_first % 2 ? z : x, *y;
    for (int i = 0; i <= changed_first; i++)
        ((double *)diff_values_modify(changed))[0] += 0.5;
    if (changed_first < 2)
        y = diff_mul(x, z);
    else if (changed_first < 4)
        y = diff_div(x, z);
    else
        y = diff_allreduce(diff_exp(changed), MPI_PROD, MPI_COMM_WORLD);
    diff_backward(diff_sum(y));
    diff_tape_free(tape_);
}

static void handle_used_twice(void)
{
    TAPE();
    struct diff_tensor *handle = diff_iallreduce(input(tape_, "x"), MPI_SUM, MPI_COMM_WORLD);
    diff_wait(handle);
    diff_wait(handle);
}

static void handle_among_all_used(void)
{
    TAPE();
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    struct diff_tensor *x = input(tape_, "x");
    struct diff_tensor *handles[2] = {diff_isend(x, 1 - rank, 0, MPI_COMM_WORLD),
                                      diff_irecv(x, 1 - rank, 0, MPI_COMM_WORLD)};
    diff_wait(handles[1]);
    diff_waitall(2, handles, NULL);
}

static void communicator_null(void)
{
    TAPE();
    diff_allreduce(input(tape_, "x"), MPI_SUM, MPI_COMM_NULL);
}

static void handle_waited_after_join(void)
{
    TAPE();
    struct diff_tensor *handle = diff_iallreduce(input(tape_, "x"), MPI_SUM, MPI_COMM_WORLD);
    diff_join_handle(handle, 0, NULL);
    diff_wait(handle);
}

static void integers(void)
{
    TAPE();
    diff_input(tape_, "x", (enum diff_type)17, 1, (size_t[]){N}, (int[]){1, 2});
}

static void logical(void)
{
    TAPE();
    diff_allreduce(input(tape_, "x"), MPI_LOR, MPI_COMM_WORLD);
}

static void unknown_op(void)
{
    TAPE();
    diff_allreduce(input(tape_, "x"), MPI_REPLACE, MPI_COMM_WORLD);
}

static void complex_maximum(void)
{
    TAPE();
    double values[2 * N] = {1, 2, 3, 4};
    struct diff_tensor *z = diff_input(tape_, "z", DIFF_COMPLEX_DOUBLE, 1, (size_t[]){N}, values);
    diff_allreduce(z, MPI_MAX, MPI_COMM_WORLD);
}

/* Every operation of MPI's, on every type: complex numbers have no order, and logical and bitwise operations no derivative. */
static MPI_Op tried_op;
static enum diff_type tried_type;

static void reduced_by(void)
{
    TAPE();
    int places[N];
    const double wide[2 * N] = {1, 2, 3, 4};
    const float narrow[2 * N] = {1, 2, 3, 4};
    bool single = tried_type == DIFF_FLOAT || tried_type == DIFF_COMPLEX_FLOAT;
    struct diff_tensor *x =
        diff_constant(tape_, tried_type, 1, (size_t[]){N}, single ? (const void *)narrow : wide);
    struct diff_call call = {.kind = DIFF_ALLREDUCE,
                             .x = x,
                             .comm = MPI_COMM_WORLD,
                             .op = tried_op,
                             .index_out = places};
    diff_collective(&call);
    diff_tape_free(tape_);
}

static void two_tapes_mixed(void)
{
    TAPE();
    struct diff_tape *other = diff_tape_new(MPI_COMM_WORLD);
    diff_add(input(tape_, "x"), input(other, "y"));
}

static void loss_not_a_number(void)
{
    TAPE();
    diff_backward(input(tape_, "x"));
}

static void message_on_unknown_communicator(void)
{
    TAPE();
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    diff_send(input(tape_, "x"), 0, 0, copy);
}

static void message_on_registered_communicator(void)
{
    TAPE();
    MPI_Comm copy;
    int rank, size;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_rank(copy, &rank);
    MPI_Comm_size(copy, &size);
    diff_comm_register(tape_, copy);
    struct diff_tensor *x = input(tape_, "x");
    struct diff_tensor *y =
        diff_sendrecv(x, (rank + 1) % size, 0, x, (rank + size - 1) % size, 0, copy);
    diff_backward(diff_sum(y));
    diff_tape_free(tape_);
    MPI_Comm_free(&copy);
}

static void different_shapes(void)
{
    TAPE();
    struct diff_tensor *x = input(tape_, "x");
    diff_add(x, diff_sum(x));
}

static void wrong_root(void)
{
    TAPE();
    diff_bcast(input(tape_, "x"), 99, MPI_COMM_WORLD);
}

static int tried_root; /* beside the ranks of two */

static void bcast_from(void)
{
    TAPE();
    diff_bcast(input(tape_, "x"), tried_root, MPI_COMM_WORLD);
}

static void reduce_to(void)
{
    TAPE();
    diff_reduce(input(tape_, "x"), MPI_SUM, tried_root, MPI_COMM_WORLD);
}

static void gather_to(void)
{
    TAPE();
    diff_gather(input(tape_, "x"), tried_root, MPI_COMM_WORLD);
}

static void scatter_from(void)
{
    TAPE();
    diff_scatter(input(tape_, "x"), 1, tried_root, MPI_COMM_WORLD);
}

static void result_changed_after_saving(void)
{
    TAPE();
    struct diff_tensor *y = diff_exp(input(tape_, "x"));
    struct diff_tensor *loss = diff_sum(y);
    ((double *)diff_values_modify(y))[0] = 7;
    diff_backward(loss);
    diff_tape_free(tape_);
}

static void second_changed_after_saving(void)
{
    TAPE();
    struct diff_tensor *x = input(tape_, "x"), *z = diff_scale(input(tape_, "z"), 2);
    struct diff_tensor *loss = diff_sum(diff_mul(x, z));
    ((double *)diff_values_modify(z))[1] = 7;
    diff_backward(loss);
    diff_tape_free(tape_);
}

static void scan_of_averages(void)
{
    TAPE();
    diff_scan(input(tape_, "x"), DIFF_AVG, MPI_COMM_WORLD);
}

static void mark_of_another_length(void)
{
    double values[2] = {1, 2};
    diff_mark_input("x", values, 2);
    diff_mark_gradient("x", values, 1);
}

static void mark_without_input(void)
{
    double g = 1;
    diff_mark_gradient("nobody", &g, 1);
}

static void stored_otherwise(void)
{
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    diff_stored(diff_zeros(tape, DIFF_DOUBLE, 1, (size_t[]){2}), (enum diff_half)2);
}

static void loss_complex(void)
{
    TAPE();
    double values[2] = {1, 2};
    diff_backward(diff_input(tape_, "z", DIFF_COMPLEX_DOUBLE, 1, (size_t[]){1}, values));
}

static void handle_in_arithmetic(void)
{
    TAPE();
    struct diff_tensor *x = input(tape_, "x");
    diff_values(diff_iallreduce(x, MPI_SUM, MPI_COMM_WORLD));
}

static void no_grad_unbalanced(void)
{
    TAPE();
    diff_no_grad_end(tape_);
}

static void replaced_in_place(void)
{
    TAPE();
    struct diff_tensor *x = diff_scale(input(tape_, "x"), 2);
    struct diff_tensor *square = diff_mul(x, x);
    struct diff_tensor *flat = diff_reshape(x, 2, (size_t[]){1, N}); /* shares its memory */
    struct diff_call call = {.kind = DIFF_ALLREDUCE,
                             .x = flat,
                             .comm = MPI_COMM_WORLD,
                             .op = MPI_SUM,
                             .flags = DIFF_IN_PLACE};
    diff_backward(diff_add(diff_sum(square), diff_sum(diff_collective(&call))));
}

static void tangent_differs(enum diff_type type, size_t count)
{
    TAPE();
    struct diff_tensor *inputs[2] = {input(tape_, "x"), input(tape_, "y")};
    const double values[N + 1] = {1, 2, 3};
    struct diff_tensor *tangents[2] = {inputs[0], diff_constant(tape_, type, 1, &count, values)};
    diff_jvp(tape_, 2, inputs, tangents);
    diff_tape_free(tape_);
}

static void tangent_longer(void)
{
    tangent_differs(DIFF_DOUBLE, N + 1);
}

static void tangent_of_floats(void)
{
    tangent_differs(DIFF_FLOAT, N);
}

static void roots_differ(void)
{
    TAPE();
    struct diff_tensor *x = input(tape_, "x"), *one = diff_sum(x);
    diff_backward_from(tape_, 1, &x, &one, 0);
}

static void no_grad(void)
{
    TAPE();
    struct diff_tensor *x = input(tape_, "x");
    diff_no_grad_begin(tape_);
    struct diff_tensor *y = diff_allreduce(x, MPI_SUM, MPI_COMM_WORLD);
    diff_no_grad_end(tape_);
    expect(!diff_requires_gradient(y), "a result in a no-grad region is a constant");
    expect(!diff_requires_gradient(diff_detach(x)), "a detached tensor is a constant");
    diff_backward(diff_sum(diff_mul(x, y)));
    const double *gradient = diff_gradient(x), *values = diff_values(y);
    for (int i = 0; i < N; i++)
        expect(gradient[i] == values[i], "%g is not %g", gradient[i], values[i]);
    diff_tape_free(tape_);
}

static void accumulation(void)
{
    TAPE();
    struct diff_tensor *x = input(tape_, "x"), *middle = diff_scale(x, 2);
    diff_retain_gradient(middle);
    diff_retain_gradient(middle); /* once more is the same */
    diff_backward(diff_sum(middle));
    diff_backward(diff_sum(diff_scale(x, 5)));
    expect(((const double *)diff_gradient(x))[0] == 7, "gradients of two losses add up");
    expect(((const double *)diff_gradient(middle))[0] == 1, "a tensor within keeps its own");
    diff_gradient_clear(x);
    expect(((const double *)diff_gradient(x))[1] == 0, "and can be cleared");
    diff_tape_free(tape_);
}

/* d/dx of sum(g * v), g the gradient of sum over ranks of prod(x)^2: exact for the product of all
 * ranks. */
static void second_order(void)
{
    TAPE();
    struct diff_tensor *x = input(tape_, "x");
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    struct diff_tensor *product = diff_allreduce(x, MPI_PROD, MPI_COMM_WORLD);
    struct diff_tensor *loss = diff_dot(product, product);
    diff_backward_from(tape_, 1, &loss, NULL, DIFF_GRAPH);
    struct diff_tensor *gradient = diff_gradient_tensor(x);
    diff_gradient_clear(x);
    diff_backward(diff_sum(gradient));
    /* J = P p^2, p = prod x_r: dJ/dx_r = 2 P p^2 / x_r; H(r,s) = 4 P p^2/(x_r x_s), H(r,r) = 2 P
     * p^2/x_r^2. */
    const double *second = diff_gradient(x);
    double p = 1, sum = 0;
    for (int r = 0; r < size; r++)
        p *= 1.0 + r;
    for (int r = 0; r < size; r++)
        sum += (r == rank ? 2 : 4) * size * p * p / ((1.0 + r) * (1.0 + rank));
    expect(second[0] > sum * (1 - 1e-12) && second[0] < sum * (1 + 1e-12), "%.17g is not %.17g",
           second[0], sum);
    diff_tape_free(tape_);
}

static int outcome_is(const char *name, void (*body)(void), enum trace_outcome expected)
{
    int got = diff_world_outcome(body, 2);
    return tap_test_str(world_outcomes[got < 0 ? 0 : got], world_outcomes[expected], TAP_HERE, "%s",
                        name);
}

/* The rank ends itself and says so: the code, then these words. */
static void ends(const char *name, void (*body)(void), const char *code, const char *words)
{
    char text[4096], wanted[300];
    int got = diff_world_heard(body, text, sizeof text);
    snprintf(wanted, sizeof wanted, ": %s: ", code);
    const char *said = strstr(text, wanted);
    bool good =
        got != OUTCOME_FINISHED && got != OUTCOME_DEADLOCK && said && strstr(said, words) != NULL;
    tap_test_str(good ? words : text, words, TAP_HERE, "%s ends the rank and says why", name);
}

static void operations_are_refused(void)
{
    enum { ANY, ORDERED, LOGICAL, UNKNOWN };
    static const char *const words[] = {
        "", "Allreduce: complex numbers have no order",
        "Allreduce: logical and bitwise operations have no derivative",
        "Allreduce: the operation has no registered derivative: call diff_op_register"};
    const struct {
        MPI_Op op;
        int rule;
    } rows[] = {{MPI_SUM, ANY},        {DIFF_AVG, ANY},        {MPI_PROD, ANY},
                {MPI_MAX, ORDERED},    {MPI_MIN, ORDERED},     {MPI_MAXLOC, ORDERED},
                {MPI_MINLOC, ORDERED}, {MPI_LAND, LOGICAL},    {MPI_LOR, LOGICAL},
                {MPI_LXOR, LOGICAL},   {MPI_BAND, LOGICAL},    {MPI_BOR, LOGICAL},
                {MPI_BXOR, LOGICAL},   {MPI_REPLACE, UNKNOWN}, {MPI_NO_OP, UNKNOWN}};
    static const enum diff_type types[] = {DIFF_FLOAT, DIFF_DOUBLE, DIFF_COMPLEX_FLOAT,
                                           DIFF_COMPLEX_DOUBLE};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            bool is_complex = t >= 2, refused = rows[i].rule > ORDERED;
            tried_op = rows[i].op;
            tried_type = types[t];
            if (refused || (rows[i].rule == ORDERED && is_complex))
                ends("an operation without a derivative", reduced_by, "M009", words[rows[i].rule]);
            else
                outcome_is("an operation with a derivative is fine", reduced_by, OUTCOME_FINISHED);
        }
}

static void body_no_grad(int rank, int size)
{
    (void)rank, (void)size;
    no_grad();
}

static void body_accumulation(int rank, int size)
{
    (void)rank, (void)size;
    accumulation();
}

static void body_second_order(int rank, int size)
{
    (void)rank, (void)size;
    second_order();
}

int main(void)
{
    ends("backward twice without retain", twice_without_retain, "M009",
         "node 2 (sum): backward reaches it a second time: the first pass released it (use "
         "DIFF_RETAIN)");
    outcome_is("backward twice with retain is fine", twice_with_retain, OUTCOME_FINISHED);
    ends("a value changed after it was saved", changed_after_saving, "G008",
         "node 2 (mul): input 0 was changed in place after the operation had saved it (version 1, "
         "saved at 0)");
    outcome_is("a value changed that nobody saved is fine", changed_but_not_saved,
               OUTCOME_FINISHED);
    outcome_is("a result changed of which the operands were saved is fine",
               result_changed_but_not_saved, OUTCOME_FINISHED);
    outcome_is("an operand changed of which the result was saved is fine",
               operand_changed_but_not_saved, OUTCOME_FINISHED);
    ends("a handle waited for twice", handle_used_twice, "M009",
         "diff_wait uses a handle a second time: the handle of node 1 (IAllreduce) was waited for "
         "or joined before");
    ends("a handle waited for, and then among all", handle_among_all_used, "M009",
         "diff_wait uses a handle a second time: the handle of node 2 (Irecv)");
    ends("a collective of no communicator", communicator_null, "M009",
         "the communicator is MPI_COMM_NULL");
    ends("a handle waited for after it was joined", handle_waited_after_join, "M009",
         "diff_wait uses a handle a second time: the handle of node 1 (IAllreduce)");
    ends("a tensor of integers", integers, "M009",
         "x: only floating point values have derivatives");
    ends("a logical reduction", logical, "M009",
         "Allreduce: logical and bitwise operations have no derivative");
    ends("a reduction without registered derivative", unknown_op, "M009",
         "Allreduce: the operation has no registered derivative: call diff_op_register");
    ends("a maximum of complex numbers", complex_maximum, "M009",
         "Allreduce: complex numbers have no order");
    ends("mixing two tapes", two_tapes_mixed, "M009", "add mixes tensors of two tapes");
    ends("a loss of several values", loss_not_a_number, "M009",
         "backward of a tensor with 2 values: a loss is one number");
    ends("a message on an unknown communicator", message_on_unknown_communicator, "M009",
         "a message on a communicator the tape does not know: call diff_comm_register on all its "
         "ranks first");
    outcome_is("a message on a registered one is fine", message_on_registered_communicator,
               OUTCOME_FINISHED);
    ends("adding different shapes", different_shapes, "M009",
         "add of tensors of different shapes (2 and 1 values)");
    ends("a root outside the communicator", wrong_root, "M009",
         "Bcast: the root is not a rank of the communicator");
    static void (*const rooted[])(void) = {bcast_from, reduce_to, gather_to, scatter_from};
    static const char *const names[] = {"Bcast", "Reduce", "Gather", "Scatter"};
    for (size_t i = 0; i < sizeof rooted / sizeof *rooted; i++)
        for (tried_root = -1; tried_root <= 2; tried_root++) {
            char words[80];
            snprintf(words, sizeof words, "%s: the root is not a rank of the communicator",
                     names[i]);
            if (tried_root < 0 || tried_root > 1)
                ends("a root next to the ranks", rooted[i], "M009", words);
            else
                outcome_is("a root among the ranks is fine", rooted[i], OUTCOME_FINISHED);
        }
    ends("a result changed after it was saved", result_changed_after_saving, "G008",
         "output 0 was changed in place after it had been saved");
    ends("a second operand changed after it was saved", second_changed_after_saving, "G008",
         "input 1 was changed in place after the operation had saved it");
    ends("a scan of averages", scan_of_averages, "M009", "Scan: a scan has no average");
    operations_are_refused();
    for (changed_first = 0; changed_first < 6; changed_first++)
        outcome_is("a value changed before it was saved is fine", changed_before_saving,
                   OUTCOME_FINISHED);
    ends("marking a gradient of another length", mark_of_another_length, "M009",
         "the gradient of x has 1 values, the input 2");
    ends("marking the gradient of no input", mark_without_input, "M009",
         "diff_mark_gradient of nobody, which no diff_mark_input named");
    ends("values stored in a way that is none", stored_otherwise, "M009",
         "diff_stored: 2 is no way to store a number");
    ends("a complex loss", loss_complex, "M009", "backward of a complex number: a loss is real");
    ends("the values of a handle", handle_in_arithmetic, "M009",
         "the values of a handle: wait for it first");
    ends("the end of a region that was not begun", no_grad_unbalanced, "M009",
         "diff_no_grad_end without its begin");
    ends("a buffer that IN_PLACE overwrites after it was saved", replaced_in_place, "G008",
         "was changed in place after the operation had saved it");
    ends("a root and its cotangent of different counts", roots_differ, "M009",
         "root 0 and its cotangent differ in type or count");
    ends("a tangent longer than its input", tangent_longer, "M009",
         "input 1 and its tangent differ in type or count");
    ends("a tangent of another type than its input", tangent_of_floats, "M009",
         "input 1 and its tangent differ in type or count");
    world_test("no-grad regions and detached tensors are constants", body_no_grad, WORLD_ANY);
    world_test("gradients accumulate, are retained and cleared", body_accumulation, WORLD_ANY);
    world_test("the second derivative of a product over ranks is exact", body_second_order,
               WORLD_ANY);
    return tap_done();
}
