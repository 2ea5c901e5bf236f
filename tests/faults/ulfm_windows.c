/* Rules of going on after a failure (ULFM), as ulfm.c has them: of windows, and of communicators that
 * not all members make. */
#include "ulfm.h"

static int *memory;

static MPI_Win window_new(void)
{
    MPI_Win window;
    MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, world, &memory, &window);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    return window;
}

static void end_of(MPI_Win *window)
{
    int flag = 1;
    MPIX_Comm_agree(world, &flag); /* all of the living are through */
    MPI_Win_free(window);
    printf("rank %d %s\n", rank, *window == MPI_WIN_NULL ? "gone" : "still there");
}

static void fence(void)
{
    MPI_Win window = window_new();
    int value = rank;
    say("fence:", MPI_Win_fence(0, window));
    die_here();
    if (rank == 0)
        MPI_Put(&value, 1, MPI_INT, 2, 0, 1, MPI_INT, window);
    say("fence:", MPI_Win_fence(0, window));
    end_of(&window);
}

/* Accesses to the dead fail, those among the living do not. */
static void access_to(void)
{
    MPI_Win window = window_new();
    int value = 3, one = 1, got = -1;
    MPI_Request request;
    after_death();
    say("lock_all:", MPI_Win_lock_all(0, window));
    say("lock:", MPI_Win_lock(MPI_LOCK_SHARED, DEAD, 0, window));
    say("locks another:", MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
    say("adds:", MPI_Fetch_and_op(&one, &got, MPI_INT, 0, 0, MPI_SUM, window));
    say("flushes:", MPI_Win_flush(0, window));
    say("unlocks:", MPI_Win_unlock(0, window));
    MPI_Win_lock(MPI_LOCK_SHARED, 2, MPI_MODE_NOCHECK, window);
    say("puts nowhere:", MPI_Put(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, window));
    say("gets:", MPI_Rget(&got, 1, MPI_INT, 2, 1, 1, MPI_INT, window, &request));
    say("waits:", MPI_Wait(&request, MPI_STATUS_IGNORE));
    say("unlocks:", MPI_Win_unlock(2, window));
    end_of(&window);
}

/* A lock of all that the death came into. */
static void held(void)
{
    MPI_Win window = window_new();
    int value = 3, got;
    say("lock_all:", MPI_Win_lock_all(0, window));
    MPI_Barrier(world);
    after_death();
    say("puts:", MPI_Put(&value, 1, MPI_INT, DEAD, 0, 1, MPI_INT, window));
    say("gets:", MPI_Get(&got, 1, MPI_INT, DEAD, 0, 1, MPI_INT, window));
    say("adds:", MPI_Accumulate(&value, 1, MPI_INT, DEAD, 0, 1, MPI_INT, MPI_SUM, window));
    say("puts to the living:", MPI_Put(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, window));
    say("flushes the living:", MPI_Win_flush(rank, window));
    say("flushes the dead:", MPI_Win_flush(DEAD, window));
    say("unlocks all:", MPI_Win_unlock_all(window));
    end_of(&window);
}

/* Who dies with a lock gives it back to nobody. */
static void holder(void)
{
    MPI_Win window = window_new();
    int flag = 1;
    if (rank == DEAD) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, window);
        MPI_Send(&flag, 1, MPI_INT, 0, 5, world);
    }
    if (rank == 0)
        MPI_Recv(&flag, 1, MPI_INT, DEAD, 5, world, MPI_STATUS_IGNORE);
    die_here();
    if (rank == 0) {
        say("waits for the lock:", MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, window));
        say("has another:", MPI_Win_lock(MPI_LOCK_SHARED, 3, 0, window));
        say("unlocks it:", MPI_Win_unlock(3, window));
    }
    end_of(&window);
}

static void exposed(void)
{
    MPI_Win window = window_new();
    MPI_Group all, others;
    int flag = 0, dead = DEAD, zero = 0;
    MPI_Comm_group(world, &all);
    MPI_Group_incl(all, 1, rank == 0 ? &dead : &zero, &others);
    die_here();
    if (rank == 0)
        say("starts:", MPI_Win_start(others, 0, window));
    MPI_Group_free(&others);
    MPI_Group_incl(all, 1, &dead, &others);
    if (rank == 2) {
        MPI_Win_post(others, 0, window);
        say("waits:", MPI_Win_wait(window));
    }
    if (rank == 3) {
        MPI_Win_post(others, 0, window);
        int code = MPI_SUCCESS;
        while (!flag)
            code = MPI_Win_test(window, &flag);
        say("tests:", code);
    }
    MPI_Group_free(&others);
    MPI_Group_free(&all);
    end_of(&window);
}

/* Members of a group with the dead, and of one without. */
static void group(void)
{
    MPI_Group all, living;
    MPI_Comm made = MPI_COMM_NULL;
    int dead = DEAD, sum = 0, one = 1;
    MPI_Comm_group(world, &all);
    MPI_Group_excl(all, 1, &dead, &living);
    die_here();
    say("makes one with it:", MPI_Comm_create_group(world, all, 3, &made));
    say("makes one without it:", MPI_Comm_create_group(world, living, 3, &made));
    if (made != MPI_COMM_NULL) {
        say("sums:", MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made));
        MPI_Comm_free(&made);
    }
    printf("rank %d sum %d\n", rank, sum);
    MPI_Group_free(&all);
    MPI_Group_free(&living);
}

/* The leader across has failed, or a member of one's own side; or who waits is told by revoking. */
static void leaders(void)
{
    MPI_Comm half, both = MPI_COMM_NULL;
    MPI_Comm_split(world, rank < 2, rank == DEAD ? 0 : 1 + rank, &half);
    MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
    die_here();
    if (rank >= 2) /* leads: rank 2, and across the dead */
        say("meets the dead:", MPI_Intercomm_create(half, 0, world, DEAD, 4, &both));
    MPI_Comm_free(&half);
}

static void called_off(void)
{
    MPI_Comm half, both = MPI_COMM_NULL, common;
    MPI_Comm_dup(world, &common);
    MPI_Comm_split(world, rank < 2, rank, &half);
    MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
    if (rank == 0)
        MPIX_Comm_revoke(common);
    if (rank >= 2)
        say("is told:", MPI_Intercomm_create(half, 0, common, 0, 4, &both));
    MPI_Comm_free(&half);
    MPI_Comm_free(&common);
}

int main(int argc, char **argv)
{
    static const struct rule rules[] = {{"fence", fence},     {"access", access_to},
                                        {"held", held},       {"holder", holder},
                                        {"exposed", exposed}, {"group", group},
                                        {"leaders", leaders}, {"called-off", called_off}};
    return run_rule(argc, argv, rules, sizeof rules / sizeof rules[0]);
}
