/* Every way to wait for several handles, messages and a collective among them: the gradient is right
 * and has the bits that Waitall gives; a wrong sign in an adjoint is found. */
#include "tests/diff_world.h"

#include <stdint.h>
#include <string.h>

enum { N = 3, HANDLES = 5, RANKS_MOST = 4 };
enum way { WAITALL, WAITANY, WAITSOME, TESTSOME, TESTALL, TESTED_BEFORE, WAYS };
static const char *const names[] = {"waitall",  "waitany", "waitsome",
                                    "testsome", "testall", "waitsome after a test"};

static enum way way;
static double gradients[RANKS_MOST][N];
static int wrong; /* results of what was complete already, or numbers that do not fit */

static void some_wait(struct diff_tensor *const *handles, struct diff_tensor **results, bool waits)
{
    size_t places[HANDLES], done = 0, found;
    struct diff_tensor *got[HANDLES];
    while (done < HANDLES) {
        found = (waits ? diff_waitsome : diff_testsome)(HANDLES, handles, places, got);
        wrong += waits && found == 0;
        for (size_t i = 0; i < found; i++) {
            wrong += results[places[i]] != NULL;
            results[places[i]] = got[i];
        }
        done += found;
    }
    wrong += diff_waitsome(HANDLES, handles, places, got) != 0; /* none is left */
}

static void wait_for(struct diff_tensor *const *handles, struct diff_tensor **results)
{
    struct diff_tensor *got;
    size_t place;
    switch (way) {
    case WAITALL:
        diff_waitall(HANDLES, handles, results);
        break;
    case WAITANY:
        while ((got = diff_waitany(HANDLES, handles, &place)) != NULL)
            results[place] = got;
        break;
    case TESTALL:
        while (!diff_testall(HANDLES, handles, results))
            ;
        break;
    default:
        some_wait(handles, results, way != TESTSOME);
    }
}

static void body(void)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    double values[N] = {0.3 + rank, -0.7, 0.2 * rank};
    size_t shape = N;
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, &shape, values), *y;
    struct diff_tensor *room = diff_zeros(tape, DIFF_DOUBLE, 1, &shape);
    struct diff_tensor *results[HANDLES] = {0};
    struct diff_tensor *handles[HANDLES] = {
        diff_irecv(room, left, 1, MPI_COMM_WORLD),
        diff_irecv(room, right, 2, MPI_COMM_WORLD),
        diff_isend(diff_mul(x, x), left, 2, MPI_COMM_WORLD),
        diff_isend(diff_sin(x), right, 1, MPI_COMM_WORLD),
        diff_iallreduce(diff_cos(x), MPI_SUM, MPI_COMM_WORLD),
    };
    if (way == TESTED_BEFORE) { /* to nobody: complete when it is tested, and passed over then */
        struct diff_tensor *nobody = diff_isend(x, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
        wrong += !diff_test(nobody);
    }
    wait_for(handles, results);
    y = diff_mul(results[0], diff_add(results[1], results[4]));
    diff_backward(diff_dot(y, diff_mul(y, x)));
    if (!diff_is_repeated())
        memcpy(gradients[rank], diff_gradient(x), sizeof gradients[rank]);
    diff_tape_free(tape);
}

static bool found(const char *flip)
{
    struct gradcheck_options options = gradcheck_options_default();
    options.flip_name = flip;
    options.flip_part = 1;
    struct gradcheck_result result = diff_world_check(body, 3, &options);
    bool failed = result.failed > 0;
    gradcheck_release(&result);
    return failed;
}

int main(void)
{
    (void)checked_open("diff_waits");
    double plain[RANKS_MOST][N];
    for (int w = 0; w < WAYS; w++) {
        char name[80];
        way = (enum way)w;
        snprintf(name, sizeof name, "%s: the gradient is right", names[w]);
        gradients_are_right(name, body, 1, 2, 3, 4);
        if (way == WAITALL)
            memcpy(plain, gradients, sizeof plain);
        tap_ok(memcmp(plain, gradients, sizeof plain) == 0, "%s: the bits of waitall", names[w]);
        tap_ok(found("Isend") && found("IAllreduce"), "%s: a wrong sign is found", names[w]);
    }
    tap_is_int(wrong, 0, "each handle is reported once, and then none is left");
    checked_close();
    return tap_done();
}
