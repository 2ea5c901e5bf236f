/* Loops of every shape beside memory that an operation owns: see loops.t, which knows what each touches.
 *
 *   loops SHAPE LOW HIGH WRITES KIND BEGIN END WINDOW
 *
 * Rank 0 runs SHAPE over the elements [LOW, HIGH) of an array while an operation of KIND (send, recv, none) has
 * [BEGIN, END) of it; column: every fourth element from BEGIN on. WINDOW: it also has a window, elsewhere. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 400, WIDTH = 20 };
static double sum;

#define SHAPE(name)                                                                                \
    static __attribute__((noinline)) void name(double *a, int low, int high, int writes)
#define TOUCH(element)                                                                             \
    do {                                                                                           \
        if (writes)                                                                                \
            element = 2;                                                                           \
        else                                                                                       \
            sum += element;                                                                        \
    } while (0)

SHAPE(up)
{
    for (int i = low; i < high; i++)
        TOUCH(a[i]);
}
SHAPE(set)
{
    if (writes)
        for (int i = low; i < high; i++)
            a[i] = 0;
    else
        up(a, low, high, 0);
}
SHAPE(down)
{
    for (int i = high - 1; i >= low; i--)
        TOUCH(a[i]);
}
SHAPE(thirds)
{
    for (int i = low; i < high; i += 3)
        TOUCH(a[i]);
}
SHAPE(unsigned_thirds)
{
    for (unsigned char i = (unsigned char)low; i < (unsigned char)high; i = (unsigned char)(i + 3))
        TOUCH(a[i]);
}
SHAPE(walk)
{
    for (double *p = a + low, *end = a + high; p < end; p++)
        TOUCH(*p);
}
SHAPE(until) /* the first element that is 7 */
{
    for (int i = low; i < LENGTH && a[i] != 7; i++)
        if (writes)
            a[i] = 2;
        else
            sum += a[i];
    (void)high;
}
SHAPE(leaves)
{
    for (int i = low; i < high; i++) {
        if (i == (low + high) / 2)
            return;
        TOUCH(a[i]);
    }
}
SHAPE(even)
{
    for (int i = low; i < high; i++)
        if (i % 2 == 0)
            TOUCH(a[i]);
}
SHAPE(indirect)
{
    int *where = malloc(LENGTH * sizeof *where);
    for (int i = 0; i < LENGTH; i++)
        where[i] = i * 3 % LENGTH;
    for (int i = low; i < high; i++)
        TOUCH(a[where[i]]);
    free(where);
}
SHAPE(square)
{
    for (int i = low / WIDTH; i < high / WIDTH; i++)
        for (int j = 5; j < 15; j++)
            TOUCH(a[i * WIDTH + j]);
}
SHAPE(triangle)
{
    for (int i = low / WIDTH; i < high / WIDTH; i++)
        for (int j = 0; j < i; j++)
            TOUCH(a[i * WIDTH + j]);
}
SHAPE(columns)
{
    for (int j = 0; j < WIDTH; j += 2)
        for (int i = low / WIDTH; i < high / WIDTH; i++)
            TOUCH(a[i * WIDTH + j]);
}
SHAPE(copy) /* to or from the other half */
{
    for (int i = low; i < high; i++)
        if (writes)
            a[i] = a[i + LENGTH / 2];
        else
            a[i + LENGTH / 2] = a[i];
}
SHAPE(neighbours)
{
    for (int i = low + 1; i < high - 1; i++)
        if (writes)
            a[i] = a[i + LENGTH / 2 - 1] + a[i + LENGTH / 2 + 1];
        else
            a[i + LENGTH / 2] = a[i - 1] + a[i + 1];
}
SHAPE(root)
{
    for (int i = low; i < high; i++)
        if (writes)
            a[i] = sqrt(i);
        else
            sum += sqrt(a[i]);
}
SHAPE(bytes)
{
    unsigned char *at = (unsigned char *)(a + low);
    for (size_t i = 0; i < (size_t)(high - low) * sizeof *a; i++)
        if (writes)
            at[i] = 0;
        else
            sum += at[i];
}
struct pair {
    float x, y;
};
SHAPE(seconds) /* the second half of each element */
{
    struct pair *pairs = (struct pair *)a;
    for (int i = low; i < high; i++)
        if (writes)
            pairs[i].y = 1;
        else
            sum += pairs[i].y;
}
SHAPE(whole)
{
    struct pair *pairs = (struct pair *)a, one = {1, 2};
    for (int i = low; i < high; i++) {
        if (writes)
            pairs[i] = one;
        else
            one = pairs[i];
    }
    sum += one.x;
}
SHAPE(always)
{
    volatile double *at = a;
    for (int i = low; i < high; i++)
        if (writes)
            at[i] = 2;
        else
            sum += at[i];
}
static __attribute__((noinline)) double change(double x)
{
    return x * 2;
}
SHAPE(calls)
{
    for (int i = low; i < high; i++)
        if (writes)
            a[i] = change(i);
        else
            sum += change(a[i]);
}
SHAPE(far)
{
    double *beyond = a + LENGTH;
    for (long i = low; i < high; i++)
        TOUCH(beyond[i - LENGTH]);
}
SHAPE(twice)
{
    for (int k = 0; k < 2; k++) {
        up(a, low, low + (high - low) / 3, writes);
        for (int i = high - (high - low) / 3; i < high; i++)
            TOUCH(a[i]);
    }
}

struct four {
    double a, b, c, d;
};
static __attribute__((noinline)) void one_step(struct four *at, int writes)
{
    if (writes) {
        at->a = at->b = 1;
        at->c = 2;
        at->d = 3;
    } else {
        sum += at->a + at->b * at->c - at->d;
    }
}
SHAPE(step)
{
    if (low < high)
        one_step((struct four *)(a + low), writes);
}
SHAPE(steps)
{
    for (int i = low; i + 4 <= high; i += 4)
        one_step((struct four *)(a + i), writes);
}
static __attribute__((noinline)) int deep(double *a, int low, int high, int writes, int depth)
{
    if (low >= high)
        return depth;
    TOUCH(a[low]);
    TOUCH(a[high - 1]);
    return deep(a, low + 1, high - 1, writes, depth + 1) + depth;
}
SHAPE(inwards)
{
    sum += deep(a, low, high, writes, 0);
}
SHAPE(switched)
{
    for (int i = low; i < high; i++)
        switch (i % 3) {
        case 0:
            TOUCH(a[i]);
            break;
        case 1:
            continue;
        default:
            if (i == high - 1)
                return;
            TOUCH(a[i - 1]);
        }
}

static const struct shape {
    const char *name;
    void (*run)(double *a, int low, int high, int writes);
} shapes[] = {{"up", up},
              {"set", set},
              {"down", down},
              {"thirds", thirds},
              {"unsigned", unsigned_thirds},
              {"walk", walk},
              {"until", until},
              {"leaves", leaves},
              {"even", even},
              {"indirect", indirect},
              {"square", square},
              {"triangle", triangle},
              {"columns", columns},
              {"copy", copy},
              {"neighbours", neighbours},
              {"root", root},
              {"bytes", bytes},
              {"seconds", seconds},
              {"whole", whole},
              {"always", always},
              {"calls", calls},
              {"far", far},
              {"twice", twice},
              {"step", step},
              {"steps", steps},
              {"inwards", inwards},
              {"switched", switched}};

int main(int argc, char **argv)
{
    int rank, low = atoi(argv[2]), high = atoi(argv[3]), begin = atoi(argv[6]), end = atoi(argv[7]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double *a = malloc(LENGTH * sizeof *a), *elsewhere;
    for (int i = 0; i < LENGTH; i++)
        a[i] = i == high ? 7 : 1;
    MPI_Win window = MPI_WIN_NULL;
    if (atoi(argv[8]))
        MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &elsewhere, &window);
    MPI_Datatype column;
    MPI_Type_vector((end - begin + 3) / 4, 1, 4, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    int columns = !strncmp(argv[5], "column", 6), count = columns ? 1 : end - begin;
    MPI_Datatype type = columns ? column : MPI_DOUBLE;
    MPI_Request request = MPI_REQUEST_NULL;
    const char *kind = columns ? argv[5] + 6 : argv[5];
    int sends = !strcmp(kind, "send"), none = !strcmp(kind, "none");
    if (!none && (rank ? !sends : sends))
        MPI_Isend(a + begin, count, type, !rank, 0, MPI_COMM_WORLD, &request);
    else if (!none)
        MPI_Irecv(a + begin, count, type, !rank, 0, MPI_COMM_WORLD, &request);
    for (size_t i = 0; !rank && i < sizeof shapes / sizeof *shapes; i++)
        if (!strcmp(shapes[i].name, argv[1]))
            shapes[i].run(a, low, high, atoi(argv[4]));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (window != MPI_WIN_NULL)
        MPI_Win_free(&window);
    for (int i = 0; i < LENGTH; i++)
        sum += a[i] * (i + 1);
    printf("rank %d: %.17g\n", rank, sum);
    MPI_Type_free(&column);
    free(a);
    MPI_Finalize();
    return 0;
}
