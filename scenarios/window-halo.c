/* about: neighbours put their border cells into each other's windows, in every kind of epoch
 * ranks: 2,3,5
 * arguments: fence
 * expect: OK
 * variant: start; arguments: start; expect: OK
 * variant: lock; arguments: lock; expect: OK
 * variant: outside; arguments: outside; expect: B004
 * variant: open; arguments: open; expect: B005
 * variant: twice; arguments: twice; expect: B005
 * variant: beyond; arguments: beyond; expect: B006
 * variant: leak; arguments: leak; expect: L007
 * variant: same; arguments: same; expect: B003
 *
 * The wrong forms: a put before any epoch is open; the window freed before a fence has closed the epoch; one target locked
 * twice; a put behind the end of the window; a window that is never freed; both
 * neighbours put into one cell in one epoch. */
#include <mpi.h>
#include <words.h>

static MPI_Win window;
static double cells[4];
static int left, right;

static void put_borders(int place)
{
    MPI_Put(&cells[1], 1, MPI_DOUBLE, left, 3, 1, MPI_DOUBLE, window);
    MPI_Put(&cells[2], 1, MPI_DOUBLE, right, place, 1, MPI_DOUBLE, window);
}

static void between_fences(int place)
{
    MPI_Win_fence(0, window);
    put_borders(place);
    MPI_Win_fence(0, window);
}

static void between_posts(void)
{
    MPI_Group all, neighbours;
    int two[2] = {left, right};
    MPI_Win_get_group(window, &all);
    MPI_Group_incl(all, left == right ? 1 : 2, two, &neighbours);
    MPI_Win_post(neighbours, 0, window);
    MPI_Win_start(neighbours, 0, window);
    put_borders(0);
    MPI_Win_complete(window);
    MPI_Win_wait(window);
    MPI_Group_free(&neighbours);
    MPI_Group_free(&all);
}

static void under_locks(int times)
{
    MPI_Win_lock(MPI_LOCK_SHARED, left, 0, window);
    if (left != right || times > 1)
        MPI_Win_lock(MPI_LOCK_SHARED, right, 0, window);
    if (times > 1)
        MPI_Win_lock(MPI_LOCK_SHARED, left, 0, window);
    put_borders(0);
    MPI_Win_unlock(left, window);
    if (left != right)
        MPI_Win_unlock(right, window);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *form = word_alone(argc, argv, "form", "fence", "fence start lock outside open twice beyond leak same");
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    left = (rank + ranks - 1) % ranks;
    right = (rank + 1) % ranks;
    cells[1] = cells[2] = rank;
    MPI_Win_create(cells, sizeof cells, sizeof *cells, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    if (!strcmp(form, "start"))
        between_posts();
    else if (!strcmp(form, "lock") || !strcmp(form, "twice"))
        under_locks(!strcmp(form, "twice") ? 2 : 1);
    else if (!strcmp(form, "outside"))
        put_borders(0);
    else
        between_fences(!strcmp(form, "beyond") ? 4 : !strcmp(form, "same") ? 3 : 0);
    if (!strcmp(form, "open"))
        put_borders(0);
    if (strcmp(form, "leak"))
        MPI_Win_free(&window);
    MPI_Finalize();
    return !strcmp(form, "same") || (cells[0] == left && cells[3] == right) ? 0 : 1;
}
