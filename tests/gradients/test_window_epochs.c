/* Windows of the tape in use: tapes that are cleared, windows on some ranks, locks whose order decides
 * the result, and the epochs that have no derivative, which end the rank. */
#include "tests/diff_world.h"

#include <math.h>
#include <string.h>

/* ---- a tape that is cleared, and one on half of the ranks ---- */

static void cleared(int rank, int size)
{
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    double start[2] = {0.5 + rank, 0.25};
    struct diff_window *window = NULL;
    for (int round = 0; round < 3; round++) {
        struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, start);
        if (window)
            diff_win_store(window, x);
        else
            window = diff_win_create(x, MPI_COMM_WORLD);
        diff_win_fence(window);
        struct diff_tensor *got = diff_win_get(window, 2, (rank + 1) % size, 0);
        diff_win_fence(window);
        diff_backward(diff_scale(diff_dot(got, got), rank + 1));
        int left = (rank + size - 1) % size;
        const double *gradient = diff_gradient(x);
        expect(gradient[0] == 2 * (left + 1) * start[0], "round %d: %g", round, gradient[0]);
        diff_tape_clear(tape);
    }
    diff_tape_free(tape);
}

static void halves(int rank, int size)
{
    MPI_Comm half;
    int own, members;
    (void)size;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_rank(half, &own);
    MPI_Comm_size(half, &members);
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    double value = 2.0 + rank;
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){1}, &value);
    struct diff_window *window =
        diff_win_create(diff_zeros(tape, DIFF_DOUBLE, 1, (size_t[]){(size_t)members}), half);
    diff_win_fence(window);
    MPI_Comm_free(&half); /* the window keeps what it needs */
    diff_win_put(window, diff_mul(x, x), 0, (size_t)own);
    diff_win_fence(window);
    diff_backward(diff_sum(diff_win_memory(window)));
    expect(*(const double *)diff_gradient(x) == 2 * value, "the gradient is %g",
           *(const double *)diff_gradient(x));
    diff_tape_free(tape);
}

static void complex_body(void)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    double values[] = {0.3 + rank, -0.7, 1.1, 0.2 * rank};
    struct diff_tensor *z = diff_input(tape, "z", DIFF_COMPLEX_DOUBLE, 1, (size_t[]){2}, values);
    struct diff_window *window = diff_win_create(diff_mul(z, z), MPI_COMM_WORLD);
    diff_win_fence(window);
    diff_win_accumulate(window, z, (rank + 1) % size, 0, MPI_SUM);
    diff_win_fence(window);
    struct diff_tensor *got =
        diff_win_get_accumulate(window, diff_slice(z, 1, 1), (rank + 1) % size, 1, MPI_SUM);
    diff_win_fence(window);
    struct diff_tensor *all =
        diff_concat(2, (struct diff_tensor *[]){got, diff_win_memory(window)});
    diff_backward(diff_dot(all, diff_mul(all, all)));
    diff_tape_free(tape);
}

/* ---- locks that decide the result ---- */

enum { ROUNDS = 3 };

/* What a rank saw at a visit of the window: the value there, the factor and the term it used. */
struct visit {
    double before, factor, term;
    int rank, round;
};

static void visit_note(struct visit *visit, struct diff_tensor *got, double factor, double term)
{
    visit->before = *(const double *)diff_values(got);
    visit->factor = factor;
    visit->term = term;
}

/* What the ranks' visits, one after the other in the order that the values tell, make of `start`,
 * and the derivatives by each visit's factor and term. */
static double chain(struct visit *visits, int count, double start, double *by_factor,
                    double *by_term)
{
    double value = start, after = 1;
    int order_of[16 * ROUNDS];
    for (int k = 0; k < count; k++) {
        int found = -1;
        for (int i = 0; i < count && found < 0; i++)
            if (visits[i].before == value)
                found = i;
        if (!expect(found >= 0, "no visit saw %.17g", value))
            return value;
        order_of[k] = found;
        value = value * visits[found].factor + visits[found].term;
    }
    for (int k = count - 1; k >= 0; k--) {
        int i = order_of[k];
        by_factor[i] = after * visits[i].before;
        by_term[i] = after;
        after *= visits[i].factor;
    }
    return value;
}

/* Every rank changes rank 0's value by a read and a write under its lock, several times, in
 * whatever order the locks are had. */
static void contended(int rank, int size)
{
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    double own[2] = {1.1 + 0.01 * rank, 0.3 - 0.02 * rank}, start = 0.7;
    struct visit visits[ROUNDS] = {{0}}, all[16 * ROUNDS];
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, own);
    struct diff_tensor *m = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){rank == 0}, &start);
    struct diff_window *window = diff_win_create(m, MPI_COMM_WORLD);
    diff_win_passive_begin(window);
    for (int round = 0; round < ROUNDS; round++) {
        struct diff_tensor *factor = diff_slice(x, 0, 1);
        struct diff_tensor *term = diff_scale(diff_slice(x, 1, 1), round + 1);
        diff_win_lock(window, MPI_LOCK_EXCLUSIVE, 0);
        struct diff_tensor *got = diff_win_get(window, 1, 0, 0);
        diff_win_flush(window, 0);
        diff_win_put(window, diff_add(diff_mul(got, factor), term), 0, 0);
        diff_win_unlock(window, 0);
        visit_note(&visits[round], got, own[0], own[1] * (round + 1));
        visits[round].rank = rank;
        visits[round].round = round;
    }
    diff_win_passive_end(window);
    struct diff_tensor *last = diff_win_memory(window);
    double by_factor[16 * ROUNDS], by_term[16 * ROUNDS], wanted[2] = {0, 0};
    MPI_Allgather(visits, sizeof visits, MPI_BYTE, all, sizeof visits, MPI_BYTE, MPI_COMM_WORLD);
    double value = chain(all, size * ROUNDS, start, by_factor, by_term);
    expect(rank > 0 || *(const double *)diff_values(last) == value, "the last value differs");
    for (int i = 0; i < size * ROUNDS; i++)
        if (all[i].rank == rank) {
            wanted[0] += by_factor[i];
            wanted[1] += by_term[i] * (all[i].round + 1);
        }
    diff_no_grad_begin(tape);
    diff_jvp(tape, 1, &x,
             (struct diff_tensor *[]){
                 diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){2}, (double[]){0.5, rank - 0.5})});
    diff_no_grad_end(tape);
    struct diff_tensor *loss = diff_sum(last);
    double sides[2] = {rank == 0 ? *(const double *)diff_values(diff_tangent(last)) : 0, 0},
           sums[2];
    diff_backward(loss);
    const double *gradient = diff_gradient(x);
    for (int i = 0; i < 2; i++)
        expect(fabs(gradient[i] - wanted[i]) <= 1e-12 * fabs(wanted[i]), "%d: %.17g is not %.17g",
               i, gradient[i], wanted[i]);
    sides[1] = gradient[0] * 0.5 + gradient[1] * (rank - 0.5);
    MPI_Allreduce(sides, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    expect(fabs(sums[0] - sums[1]) <= 1e-12 * fabs(sums[1]), "forward %.17g, backward %.17g",
           sums[0], sums[1]);
    diff_tape_free(tape);
}

/* Two windows, locks nested and of several targets; every rank's objective has what it fetched. */
static void fetched(void)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    double own[2] = {0.4 + 0.1 * rank, 0.9};
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, own), *sum = x;
    struct diff_window *a = diff_win_create(x, MPI_COMM_WORLD);
    struct diff_window *b = diff_win_create(diff_mul(x, x), MPI_COMM_WORLD);
    diff_win_passive_begin(a);
    diff_win_passive_begin(b);
    for (int k = 0; k < 2 * size; k++) {
        int target = (rank + k) % size, other = (rank * k + 1) % size;
        diff_win_lock(a, k % 3 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target);
        struct diff_tensor *got = diff_win_get(a, 1, target, 1), *mine = diff_sin(sum);
        diff_win_flush(a, target);
        diff_win_lock(b, MPI_LOCK_EXCLUSIVE, other);
        struct diff_tensor *old =
            diff_win_get_accumulate(b, diff_mul(mine, diff_scale_by(x, diff_sum(got))), other, 0,
                                    k % 2 ? MPI_SUM : MPI_REPLACE);
        diff_win_unlock(b, other);
        if (k % 3)
            diff_win_put(a, diff_slice(diff_tanh(old), 0, 1), target, 1);
        diff_win_unlock(a, target);
        sum = diff_tanh(diff_add(sum, old));
    }
    diff_win_passive_end(b);
    diff_win_passive_end(a);
    struct diff_tensor *all[] = {sum, diff_win_memory(a), diff_win_memory(b)};
    diff_backward(diff_dot(diff_concat(3, all), diff_concat(3, all)));
    diff_tape_free(tape);
}

/* Under locks of all, ordered by barriers on the tape. */
static void barriers(void)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    double own[2] = {0.4 + 0.1 * rank, 0.9};
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, own), *sum = x;
    struct diff_window *window = diff_win_create(x, MPI_COMM_WORLD);
    diff_win_passive_begin(window);
    diff_win_lock_all(window);
    for (int k = 1; k < 4; k++) {
        struct diff_tensor *got = diff_win_get(window, 2, (rank + k) % size, 0);
        diff_win_flush_all(window);
        diff_barrier(tape, MPI_COMM_WORLD);
        sum = diff_sin(diff_mul(sum, got));
        diff_win_put(window, sum, (rank + 2 * k) % size, 0);
        diff_win_flush_all(window);
        diff_barrier(tape, MPI_COMM_WORLD);
    }
    diff_win_unlock_all(window);
    diff_win_passive_end(window);
    diff_backward(diff_dot(diff_win_memory(window), sum));
    diff_tape_free(tape);
}

/* ---- what is refused ---- */

static struct diff_tensor *input(struct diff_tape *tape)
{
    return diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, (double[]){1, 2});
}

#define FIRST (MPIX_World_rank() == 0)
#define REFUSED(name, ...)                                                                         \
    static void name(void)                                                                         \
    {                                                                                              \
        struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);                                    \
        struct diff_tensor *x = input(tape);                                                       \
        struct diff_window *window = diff_win_create(x, MPI_COMM_WORLD);                           \
        MPI_Group all;                                                                             \
        MPI_Comm_group(MPI_COMM_WORLD, &all);                                                      \
        __VA_ARGS__;                                                                               \
        (void)tape, (void)window;                                                                  \
    }
#define IN_FENCES(name, ...) REFUSED(name, diff_win_fence(window); __VA_ARGS__)
#define IN_PHASE(name, ...)  REFUSED(name, diff_win_passive_begin(window); __VA_ARGS__)
IN_FENCES(two_puts, diff_win_put(window, x, 0, 0); diff_win_fence(window))
IN_FENCES(put_and_get, if (FIRST) diff_win_put(window, x, 0, 0); else diff_win_get(window, 1, 0, 1);
          diff_win_fence(window))
IN_FENCES(sum_and_get, diff_win_accumulate(window, x, 0, 0, MPI_SUM);
          diff_win_get_accumulate(window, x, 0, 0, MPI_NO_OP); diff_win_fence(window))
IN_FENCES(two_fetches, diff_win_fetch_and_op(window, diff_slice(x, 0, 1), 0, 1, MPI_SUM);
          diff_win_fence(window))
IN_FENCES(maximum, diff_win_accumulate(window, x, 0, 0, MPI_MAX))
IN_FENCES(product, diff_win_get_accumulate(window, x, 0, 0, MPI_PROD))
IN_FENCES(fetch_many, diff_win_fetch_and_op(window, x, 0, 0, MPI_SUM))
IN_FENCES(beyond, diff_win_put(window, x, 0, 1))
IN_FENCES(nobody, diff_win_get(window, 1, 77, 0))
IN_FENCES(early, diff_scale(diff_win_get(window, 1, 0, 0), 2))
IN_FENCES(early_sum, diff_add(diff_win_get(window, 2, 0, 0), x))
IN_FENCES(early_message, diff_send(diff_win_get(window, 2, 0, 0), 0, 0, MPI_COMM_WORLD))
IN_FENCES(early_collective, diff_allreduce(diff_win_get(window, 2, 0, 0), MPI_SUM, MPI_COMM_WORLD))
IN_FENCES(early_values, diff_values(diff_win_get(window, 1, 0, 0)))
IN_FENCES(waited, diff_wait(diff_win_get(window, 1, 0, 0)))
IN_FENCES(changed, diff_win_put(window, x, 0, 0); diff_values_modify(x); diff_win_fence(window))
IN_FENCES(unfinished, diff_win_get(window, 1, 0, 0); diff_backward(diff_sum(x)))
IN_FENCES(freed_unfinished, diff_win_get(window, 1, 0, 0); diff_tape_free(tape))
IN_FENCES(forgotten, diff_tape_clear(tape); diff_win_memory(window))
IN_FENCES(other_count, diff_win_store(window, diff_slice(x, 0, 1)))
IN_FENCES(other_type, diff_win_put(window, diff_cast(x, DIFF_FLOAT), 0, 0))
REFUSED(unopened, diff_win_get(window, 1, 0, 0))
REFUSED(wait_alone, diff_win_wait(window))
REFUSED(complete_alone, diff_win_complete(window))
REFUSED(started_twice, diff_win_start(window, all); diff_win_start(window, all))
REFUSED(posted_memory, diff_win_post(window, all); diff_win_memory(window))
REFUSED(posted_store, diff_win_post(window, all); diff_win_store(window, x))
REFUSED(posted_backward, diff_win_post(window, all); diff_backward(diff_sum(x)))
REFUSED(started_clear, diff_win_start(window, all); diff_tape_clear(tape))
REFUSED(not_named, diff_win_start(window, MPI_GROUP_EMPTY); diff_win_get(window, 1, 1, 0))
REFUSED(own_overlap, diff_win_post(window, all); diff_win_start(window, all);
        diff_win_put(window, x, MPIX_World_rank(), 0);
        diff_win_get(window, 1, MPIX_World_rank(), 1); diff_win_complete(window))
REFUSED(lock_outside, diff_win_lock(window, MPI_LOCK_EXCLUSIVE, 0))
REFUSED(end_outside, diff_win_passive_end(window))
IN_PHASE(no_lock, diff_win_put(window, x, 0, 0))
IN_PHASE(other_lock, diff_win_lock(window, MPI_LOCK_EXCLUSIVE, MPIX_World_rank());
         diff_win_put(window, x, 1 - MPIX_World_rank(), 0))
IN_PHASE(lock_twice, diff_win_lock(window, MPI_LOCK_SHARED, 0);
         diff_win_lock(window, MPI_LOCK_SHARED, 0))
IN_PHASE(unlock_alone, diff_win_unlock(window, 0))
IN_PHASE(lock_kept, diff_win_lock(window, MPI_LOCK_SHARED, 0); diff_win_passive_end(window))
IN_PHASE(flush_alone, diff_win_flush(window, 0))
IN_PHASE(phase_memory, diff_win_memory(window))
IN_PHASE(phase_fence, diff_win_fence(window))
IN_PHASE(phase_start, diff_win_start(window, all))
IN_PHASE(shared_fetch, diff_win_lock(window, MPI_LOCK_SHARED, 0);
         diff_win_fetch_and_op(window, diff_slice(x, 0, 1), 0, 0, MPI_SUM))
IN_PHASE(
    both_kinds,
    if (FIRST) {
        diff_win_lock_all(window);
        diff_win_unlock_all(window);
    } else {
        diff_win_lock(window, MPI_LOCK_SHARED, 0);
        diff_win_unlock(window, 0);
    } diff_win_passive_end(window))
REFUSED(data_order, diff_tape_order(tape, DIFF_ORDER_DATA); diff_win_passive_begin(window))

static void shared_get(void)
{
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = input(tape);
    struct diff_window *window = diff_win_create(x, MPI_COMM_WORLD);
    diff_win_fence(window);
    struct diff_tensor *got = diff_win_get(window, 2, 0, 0);
    diff_win_fence(window);
    diff_backward(diff_dot(got, got));
    diff_tape_free(tape);
}

static const struct {
    const char *name;
    void (*body)(void);
    const char *words;
} refusals[] = {
    {"two puts to one place", two_puts,
     "B003: node 1 (Win_fence): in one epoch rank 0's put and rank 1's put meet in values 0 to 1 "
     "of "
     "rank 0's window"},
    {"a put and a get of one place", put_and_get, "in values 1 to 1 of rank 0's window"},
    {"a sum and a get that no order decides", sum_and_get, "do one of them after a diff_win_fence"},
    {"two fetches of one place", two_fetches, "rank 0's get and accumulate and rank 1's"},
    {"a maximum", maximum, "M009: diff_win_accumulate: only MPI_SUM and MPI_REPLACE"},
    {"a product", product,
     "M009: diff_win_get_accumulate: only MPI_SUM, MPI_REPLACE and MPI_NO_OP"},
    {"a fetch of two values", fetch_many, "for more there is diff_win_get_accumulate"},
    {"a put beyond the end", beyond, "2 values from 1 on do not fit the 2 of rank 0's window"},
    {"a target outside", nobody, "the target 77 is no rank of the window's 2"},
    {"a multiple of what a get has not brought", early, "M009: scale of a handle"},
    {"a sum with what a get has not brought", early_sum, "M009: add of handle and double"},
    {"a message of what a get has not brought", early_message, "M009: "},
    {"a collective of what a get has not brought", early_collective, "M009: "},
    {"the values of what a get has not brought", early_values, "the values of a handle"},
    {"a wait for a get", waited, "needs no wait"},
    {"an origin changed within the epoch", changed, "was changed before the fence"},
    {"backward within an epoch", unfinished, "backward in an epoch with 1 accesses"},
    {"the tape freed within an epoch", freed_unfinished, "diff_tape_free in an epoch with 1"},
    {"the memory of a cleared tape", forgotten, "diff_tape_clear has forgotten"},
    {"a store of another count", other_count, "diff_win_store of 1 values"},
    {"a put of another type", other_type, "diff_win_put of a float tensor"},
    {"an access before the first fence", unopened, "B004: diff_win_get before the first fence"},
    {"a wait without a post", wait_alone, "B005: diff_win_wait without"},
    {"a complete without a start", complete_alone, "B005: diff_win_complete without"},
    {"two starts", started_twice, "B005: diff_win_start in an epoch that was started"},
    {"the memory between post and wait", posted_memory, "call diff_win_wait first"},
    {"a store between post and wait", posted_store, "diff_win_store while others"},
    {"backward between post and wait", posted_backward, "backward while others may access"},
    {"a clear between start and complete", started_clear, "end it by diff_win_complete first"},
    {"an access to a rank that was not started", not_named, "which diff_win_start did not name"},
    {"a put and a get of one rank's", own_overlap, "after a diff_win_complete and another start"},
    {"a lock outside of a phase", lock_outside, "B004: diff_win_lock outside of a passive phase"},
    {"an end without a begin", end_outside,
     "B004: diff_win_passive_end outside of a passive phase"},
    {"a put without a lock", no_lock, "B004: diff_win_put to rank 0 without its lock"},
    {"a put with another's lock", other_lock, "without its lock"},
    {"two locks of one rank", lock_twice, "B005: diff_win_lock of rank 0, whose lock is held"},
    {"an unlock without a lock", unlock_alone, "B005: diff_win_unlock of a lock that is not held"},
    {"an end with a lock", lock_kept, "B005: diff_win_passive_end with a lock still held"},
    {"a flush without a lock", flush_alone, "B004: diff_win_flush of rank 0 without its lock"},
    {"the memory in a phase", phase_memory, "call diff_win_passive_end first"},
    {"a fence in a phase", phase_fence, "call diff_win_passive_end first"},
    {"a start in a phase", phase_start, "call diff_win_passive_end first"},
    {"a fetch under a shared lock", shared_fetch, "take MPI_LOCK_EXCLUSIVE"},
    {"locks of one and of all in a phase", both_kinds, "either diff_win_lock or diff_win_lock_all"},
    {"a phase in data order", data_order, "which is what program order is for"},
};

static void refusal_test(const char *name, void (*body)(void), const char *words)
{
    char text[4096];
    int got = diff_world_heard(body, text, sizeof text);
    bool good = got != OUTCOME_FINISHED && got != OUTCOME_DEADLOCK && strstr(text, words);
    tap_test_str(good ? words : text, words, TAP_HERE, "%s is refused", name);
}

/* ---- random accesses of one epoch ---- */

enum { HELD = 8, ACCESSES = 3, PAIR = 2, EPOCHS = 60 };
enum way { IN_FENCE, IN_START, IN_LOCK, WAYS };
enum access_sort { PUTS, REPLACES, GETS, NOTHINGS, SUMS, FETCHES, SWAPS, SORTS };

static const char *const sort_names[] = {
    "put", "put", "get", "get", "accumulate", "get and accumulate", "get and replace"};

static struct {
    enum way way;
    int count[PAIR];
    struct planned {
        enum access_sort sort;
        int target;
        size_t begin, count;
    } by[PAIR][ACCESSES];
} epoch_plan;

static void access_do(struct diff_window *window, struct diff_tensor *x, const struct planned *a)
{
    x = diff_slice(x, 0, a->count);
    if (a->sort == PUTS)
        diff_win_put(window, x, a->target, a->begin);
    else if (a->sort == REPLACES || a->sort == SUMS)
        diff_win_accumulate(window, x, a->target, a->begin,
                            a->sort == SUMS ? MPI_SUM : MPI_REPLACE);
    else if (a->sort == GETS)
        diff_win_get(window, a->count, a->target, a->begin);
    else if (a->count == 1 && a->begin % 2)
        diff_win_fetch_and_op(window, x, a->target, a->begin,
                              a->sort == FETCHES ? MPI_SUM
                              : a->sort == SWAPS ? MPI_REPLACE
                                                 : MPI_NO_OP);
    else
        diff_win_get_accumulate(window, x, a->target, a->begin,
                                a->sort == FETCHES ? MPI_SUM
                                : a->sort == SWAPS ? MPI_REPLACE
                                                   : MPI_NO_OP);
}

static void planned_epoch(void)
{
    int rank = MPIX_World_rank();
    const double values[HELD] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){HELD}, values);
    struct diff_window *window = diff_win_create(x, MPI_COMM_WORLD);
    MPI_Group all;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    if (epoch_plan.way == IN_FENCE) {
        diff_win_fence(window);
    } else if (epoch_plan.way == IN_START) {
        diff_win_post(window, all);
        diff_win_start(window, all);
    } else {
        diff_win_passive_begin(window);
        diff_win_lock(window, MPI_LOCK_EXCLUSIVE, epoch_plan.by[rank][0].target);
    }
    for (int i = 0; i < epoch_plan.count[rank]; i++)
        access_do(window, x, &epoch_plan.by[rank][i]);
    if (epoch_plan.way == IN_FENCE) {
        diff_win_fence(window);
    } else if (epoch_plan.way == IN_START) {
        diff_win_complete(window);
        diff_win_wait(window);
    } else {
        diff_win_unlock(window, epoch_plan.by[rank][0].target);
        diff_win_passive_end(window);
    }
    MPI_Group_free(&all);
    diff_backward(diff_sum(diff_win_memory(window)));
    diff_tape_free(tape);
}

static void epoch_draw(uint64_t seed)
{
    uint64_t dice = seed;
    uint32_t sorts = 1 + dice_below(&dice, SORTS), first = dice_below(&dice, SORTS);
    epoch_plan.way = (enum way)dice_below(&dice, WAYS);
    for (int r = 0; r < PAIR; r++) {
        int locked = (int)dice_below(&dice, PAIR);
        epoch_plan.count[r] = (int)dice_below(&dice, ACCESSES + 1);
        for (int i = 0; i < ACCESSES; i++) {
            struct planned *a = &epoch_plan.by[r][i];
            a->sort = (enum access_sort)((first + dice_below(&dice, sorts)) % SORTS);
            a->target = epoch_plan.way == IN_LOCK ? locked : (int)dice_below(&dice, PAIR);
            a->count = 1 + dice_below(&dice, 3);
            a->begin = dice_below(&dice, (uint32_t)(HELD + 1 - a->count));
        }
    }
}

/* Whether two accesses meet in an order that nothing decides: not if both get, or both add sums. */
static bool clash(const struct planned *a, const struct planned *b)
{
    bool get = (a->sort == GETS || a->sort == NOTHINGS) && (b->sort == GETS || b->sort == NOTHINGS);
    bool meet = false;
    for (size_t at = 0; at < HELD; at++)
        meet = meet || (at >= a->begin && at - a->begin < a->count && at >= b->begin &&
                        at - b->begin < b->count);
    return a->target == b->target && meet && !get && !(a->sort == SUMS && b->sort == SUMS);
}

/* What is to be said of two accesses; "" where they may be side by side. A fence knows all ranks', the others
 * their own. */
static void clash_text(int r, int i, int other, int k, char *text, size_t size)
{
    static const char *const after[] = {"fence", "complete and another start", "flush"};
    const struct planned *a = &epoch_plan.by[r][i], *b = &epoch_plan.by[other][k];
    size_t begin = a->begin > b->begin ? a->begin : b->begin, end = begin;
    text[0] = 0;
    if ((r == other && i == k) || !clash(a, b) || (r != other && epoch_plan.way != IN_FENCE))
        return;
    while (end < a->begin + a->count && end < b->begin + b->count)
        end++;
    snprintf(text, size,
             "in one epoch rank %d's %s and rank %d's %s meet in values %zu to %zu of rank %d's "
             "window, in an order that nothing decides; do one of them after a diff_win_%s",
             r, sort_names[a->sort], other, sort_names[b->sort], begin, end - 1, a->target,
             after[epoch_plan.way]);
}

/* It ends where two clash, and only there; what is said of it is so. */
static bool epoch_right(int *clashes)
{
    char said[4096], text[400];
    bool any = false, told = false;
    int outcome = diff_world_heard(planned_epoch, said, sizeof said);
    for (int r = 0; r < PAIR; r++)
        for (int i = 0; i < epoch_plan.count[r]; i++)
            for (int other = 0; other < PAIR; other++)
                for (int k = 0; k < epoch_plan.count[other]; k++) {
                    clash_text(r, i, other, k, text, sizeof text);
                    any = any || text[0];
                    told = told || (text[0] && strstr(said, text));
                }
    *clashes += any;
    if (any != (outcome != OUTCOME_FINISHED) || any != told)
        tap_note("%s, outcome %d: %s", any ? "clash" : "no clash", outcome, said);
    return any == (outcome != OUTCOME_FINISHED) && any == told;
}

static void epochs_check(void)
{
    int wrong = 0, clashes = 0;
    struct dice_seeds seeds = dice_seeds(EPOCHS * WAYS);
    for (unsigned long long i = 0; i < seeds.count; i++) {
        epoch_draw(seeds.first + i);
        wrong += !epoch_right(&clashes);
    }
    tap_is_int(wrong, 0, "random accesses of an epoch are refused where two of them clash");
    tap_note("%d of %llu clash", clashes, seeds.count);
}

int main(void)
{
    world_test("a window lives on when its tape is cleared", cleared, WORLD_ANY);
    world_test("a window on half of the ranks, in another order", halves, WORLD_ANY);
    world_test("locks are taken backward in the reverse of their order", contended, WORLD_ANY);
    gradients_are_right("complex values", complex_body, 1, 2, 3, 5);
    gradients_are_right("nested locks of two windows", fetched, 1, 2, 3, 5, 8);
    gradients_are_right("locks of all, and barriers", barriers, 1, 2, 3, 5, 8);
    tap_is_int(diff_world_outcome(shared_get, 3), OUTCOME_FINISHED,
               "gets of one place by all ranks are fine");
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        refusal_test(refusals[i].name, refusals[i].body, refusals[i].words);
    epochs_check();
    return tap_done();
}
