/* Calls of windows, right and wrong, drawn by a seed: what each says, when it returned, and what is in memory afterwards.
 *
 *   short_windows SEED */
#include <mpi.h>
#include <mpix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 60, CALLS = 12, INTS = 16, BYTES = INTS * (int)sizeof(int) };

static unsigned long state;

static int below(int n)
{
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (int)((state >> 33) % (unsigned long)n);
}

static int rank, size, *memory;
static MPI_Win win;
static _Alignas(8) char own[2 * BYTES];
static MPI_Datatype apart;

static MPI_Datatype some_type(void)
{
    MPI_Datatype const types[] = {
        MPI_INT,  MPI_INT,        MPI_INT, MPI_BYTE, MPI_DOUBLE,   MPI_FLOAT,        MPI_SHORT,
        MPI_2INT, MPI_DOUBLE_INT, apart,   MPI_CHAR, MPI_UNSIGNED, MPI_DATATYPE_NULL};
    return types[below(13)];
}

static MPI_Op some_op(void)
{
    MPI_Op const ops[] = {MPI_SUM,     MPI_SUM,   MPI_PROD,   MPI_MAX,  MPI_BXOR,
                          MPI_REPLACE, MPI_NO_OP, MPI_MINLOC, MPI_LAND, MPI_OP_NULL};
    return ops[below(10)];
}

/* Mostly of the window; of a target that is none, and of nobody. */
static int some_target(void)
{
    int drawn = below(20);
    return drawn == 0 ? size : drawn == 1 ? -7 : drawn == 2 ? MPI_PROC_NULL : below(size);
}

static int call(void)
{
    int what = below(6), target = some_target(), count = below(5) - (below(10) == 0),
        there = below(6) ? count : below(5);
    MPI_Datatype type = some_type(), target_type = below(6) ? type : some_type();
    MPI_Aint place = below(INTS + 2) - (below(12) == 0);
    if (below(30) == 0)
        place = (MPI_Aint)1 << (32 + below(31));
    char *origin = below(25)  ? own + below(8) * (below(4) ? 4 : 1)
                   : below(2) ? NULL
                              : (char *)memory + 4 * below(4);
    switch (what) {
    case 0:
        return MPI_Put(origin, count, type, target, place, there, target_type, win);
    case 1:
        return MPI_Get(origin, count, type, target, place, there, target_type, win);
    case 2:
        return MPI_Accumulate(origin, count, type, target, place, there, target_type, some_op(),
                              win);
    case 3:
        return MPI_Win_flush(target, below(20) ? win : MPI_WIN_NULL);
    case 4:
        return MPI_Win_flush_local(target, win);
    default: /* within its own memory */
        count = 2 + below(5);
        return MPI_Accumulate(memory + below(4), count, MPI_INT, rank, below(8), count, MPI_INT,
                              MPI_SUM, win);
    }
}

static void begin(int kind, int target, int drawn)
{
    if (kind == 0)
        MPI_Win_lock_all(0, win);
    else if (kind == 1)
        MPI_Win_lock(drawn % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, win);
    else if (kind == 2)
        MPI_Win_fence(drawn % 3 ? 0 : MPI_MODE_NOPUT, win);
}

static void end(int kind, int target)
{
    if (kind == 0)
        MPI_Win_unlock_all(win);
    else if (kind == 1)
        MPI_Win_unlock(target, win);
    else if (kind == 2)
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}

/* A rank at a time, so that what it finds is its own doing; the others wait. */
static void draw_calls(void)
{
    int kind = below(10) % 4, target = below(size), turn = below(size), drawn = below(6);
    if (kind == 2 || rank == turn)
        begin(kind, target, drawn);
    for (int i = below(CALLS); i >= 0; i--) {
        unsigned long before = state;
        int error = rank == turn ? call() : MPI_SUCCESS, class = MPI_SUCCESS;
        MPI_Error_class(error, &class);
        if (rank == turn)
            printf("%d: %d %lu\n", rank, class, (unsigned long)MPIX_Steps());
        state = before * 2862933555777941757ul + 3037000493ul; /* all draw alike */
    }
    if (kind == 2 && rank == turn && drawn % 2) { /* only where nothing was accessed */
        int error = MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        printf("%d: lock %s\n", rank, error ? "refused" : "given");
        if (!error)
            MPI_Win_unlock(target, win);
    }
    if (kind == 2 || rank == turn)
        end(kind, target);
    MPI_Barrier(MPI_COMM_WORLD);
    unsigned sum = 0;
    for (int i = 0; i < BYTES; i++)
        sum = sum * 31 + (unsigned char)own[i] * 7u + ((unsigned char *)memory)[i];
    printf("%d: sum %u\n", rank, sum);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Who polls by gets and flushes lets the others go on. */
static void poll(void)
{
    int flag = 0, one = 1, polls = 0, next = (rank + 1) % size;
    memory[0] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    while (rank && !flag) {
        MPI_Get(&flag, 1, MPI_INT, rank, 0, 1, MPI_INT, win);
        MPI_Win_flush(rank, win);
        polls++;
    }
    MPI_Put(&one, 1, MPI_INT, next, 0, 1, MPI_INT, win);
    MPI_Win_flush(next, win);
    MPI_Win_unlock_all(win);
    printf("%d: %d polls %lu\n", rank, polls, (unsigned long)MPIX_Steps());
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    state = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    MPI_Type_vector(2, 1, 2, MPI_INT, &apart);
    MPI_Type_commit(&apart);
    MPI_Win_allocate(BYTES, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    for (int i = 0; i < INTS; i++)
        memory[i] = 100 * rank + i;
    for (int i = 0; i < 2 * BYTES; i++)
        own[i] = (char)(rank + i % 11);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < ROUNDS; i++)
        draw_calls();
    poll();
    MPI_Win_free(&win);
    MPI_Type_free(&apart);
    MPI_Finalize();
}
