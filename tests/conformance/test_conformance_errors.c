/* Errors: their classes for wrong arguments, where they go, and the environment around them. */
#include "tests/world_harness.h"

static void wrong_messages_have_their_classes(int rank, int size)
{
    int value = 0, flag;
    MPI_Datatype raw, none = MPI_DATATYPE_NULL;
    MPI_Request request;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Type_contiguous(2, MPI_INT, &raw);
    const struct {
        const void *buffer;
        int count;
        MPI_Datatype type;
        int peer, tag;
        MPI_Comm comm;
        int class;
    } wrong[] = {{&value, -1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_ERR_COUNT},
                 {&value, 1, none, rank, 0, MPI_COMM_WORLD, MPI_ERR_TYPE},
                 {&value, 1, raw, rank, 0, MPI_COMM_WORLD, MPI_ERR_TYPE},
                 {&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD, MPI_ERR_RANK},
                 {&value, 1, MPI_INT, -55, 0, MPI_COMM_WORLD, MPI_ERR_RANK},
                 {&value, 1, MPI_INT, rank, -55, MPI_COMM_WORLD, MPI_ERR_TAG},
                 {NULL, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_ERR_BUFFER},
                 {MPI_IN_PLACE, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_ERR_BUFFER},
                 {&value, 1, MPI_INT, rank, 0, MPI_COMM_NULL, MPI_ERR_COMM}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int codes[6], class;
        void *buffer = (void *)(uintptr_t)wrong[i].buffer;
        codes[0] = MPI_Send(buffer, wrong[i].count, wrong[i].type, wrong[i].peer, wrong[i].tag,
                            wrong[i].comm);
        codes[1] = MPI_Issend(buffer, wrong[i].count, wrong[i].type, wrong[i].peer, wrong[i].tag,
                              wrong[i].comm, &request);
        codes[2] = MPI_Recv(buffer, wrong[i].count, wrong[i].type, wrong[i].peer, wrong[i].tag,
                            wrong[i].comm, MPI_STATUS_IGNORE);
        codes[3] = MPI_Irecv(buffer, wrong[i].count, wrong[i].type, wrong[i].peer, wrong[i].tag,
                             wrong[i].comm, &request);
        codes[4] = MPI_Recv_init(buffer, wrong[i].count, wrong[i].type, wrong[i].peer, wrong[i].tag,
                                 wrong[i].comm, &request);
        codes[5] = MPI_Sendrecv(buffer, wrong[i].count, wrong[i].type, wrong[i].peer, wrong[i].tag,
                                &value, 1, MPI_INT, rank, 0, wrong[i].comm, MPI_STATUS_IGNORE);
        for (int form = 0; form < 6; form++) {
            MPI_Error_class(codes[form], &class);
            expect(class == wrong[i].class, "row %zu, form %d: class %d, not %d", i, form, class,
                   wrong[i].class);
        }
    }
    expect_class(MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    expect_class(MPI_Send(&value, 1, MPI_INT, rank, MPI_ANY_TAG, MPI_COMM_WORLD), MPI_ERR_TAG);
    expect_class(MPI_Iprobe(size, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE), MPI_ERR_RANK);
    expect_class(MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    MPI_Type_free(&raw);
}

static void wrong_collectives_have_their_classes(int rank, int size)
{
    int value = rank, got[16], counts[16], at[16];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int r = 0; r < size; r++) {
        counts[r] = -1;
        at[r] = 0;
    }
    MPI_Comm world = MPI_COMM_WORLD;
    expect_class(MPI_Bcast(&value, 1, MPI_INT, size, world), MPI_ERR_ROOT);
    expect_class(MPI_Bcast(&value, 1, MPI_INT, -1, world), MPI_ERR_ROOT);
    expect_class(MPI_Bcast(&value, -1, MPI_INT, 0, world), MPI_ERR_COUNT);
    expect_class(MPI_Bcast(&value, 1, MPI_DATATYPE_NULL, 0, world), MPI_ERR_TYPE);
    expect_class(MPI_Bcast(NULL, 1, MPI_INT, 0, world), MPI_ERR_BUFFER);
    expect_class(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, world), MPI_ERR_BUFFER);
    expect_class(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_NULL), MPI_ERR_COMM);
    expect_class(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
    expect_class(MPI_Allgather(&value, 1, MPI_INT, got, -1, MPI_INT, world), MPI_ERR_COUNT);
    expect_class(MPI_Alltoallv(&value, counts, at, MPI_INT, got, counts, at, MPI_INT, world),
                 MPI_ERR_COUNT);
    expect_class(MPI_Alltoallv(&value, NULL, at, MPI_INT, got, counts, at, MPI_INT, world),
                 MPI_ERR_ARG);
    expect_ok(MPI_Allgather(&value, 1, MPI_INT, got, 1, MPI_INT, world));
    expect(got[size - 1] == size - 1, "afterwards the world works: %d", got[size - 1]);
}

/* ---- handlers ---- */

static int *called_with(void)
{
    static _Thread_local int of_thread[16][2];
    return of_thread[MPIX_World_rank()];
}

static void note_error(MPI_Comm *comm, int *code, ...)
{
    int size;
    MPI_Comm_size(*comm, &size); /* a handler may call MPI */
    called_with()[0]++;
    called_with()[1] = *code;
}

static void handlers_are_called(int rank, int size)
{
    MPI_Errhandler own, found;
    MPI_Comm first, copy;
    memset(called_with(), 0, 2 * sizeof(int));
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    expect_ok(MPI_Comm_create_errhandler(note_error, &own));
    expect_ok(MPI_Comm_set_errhandler(first, own));
    expect_ok(MPI_Errhandler_free(&own));
    expect(own == MPI_ERRHANDLER_NULL, "the freed handler is null");
    expect_class(MPI_Send(&rank, 1, MPI_INT, size, 0, first), MPI_ERR_RANK);
    expect(called_with()[0] == 1 && called_with()[1] == MPI_ERR_RANK, "called %d times with %d",
           called_with()[0], called_with()[1]);
    MPI_Comm_dup(first, &copy);
    expect_class(MPI_Bcast(&rank, 1, MPI_INT, size, copy), MPI_ERR_ROOT);
    expect(called_with()[0] == 2 && called_with()[1] == MPI_ERR_ROOT, "a copy calls it as well");
    expect_ok(MPI_Comm_get_errhandler(copy, &found));
    MPI_Comm_free(&copy);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, found);
    MPI_Errhandler_free(&found);
    expect_ok(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_NAME));
    expect(called_with()[0] == 3 && called_with()[1] == MPI_ERR_NAME, "and the world, when asked");
    MPI_Comm_set_errhandler(first, MPI_ERRORS_RETURN);
    expect_class(MPI_Send(&rank, 1, MPI_INT, size, 0, first), MPI_ERR_RANK);
    expect(called_with()[0] == 3, "one that was replaced is called no more");
    MPI_Comm_free(&first);
}

static void ignore_what_is_fatal(int rank, int size)
{
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == size - 1) /* the copy was made before: it is still fatal */
        MPI_Send(&rank, 1, MPI_INT, size, 0, copy);
    MPI_Barrier(MPI_COMM_WORLD);
    expect(false, "somebody came through");
}

static void errors_abort(int rank, int size)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ABORT);
    if (rank == 0)
        MPI_Send(&rank, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void call_the_unsupported(int rank, int size)
{
    MPI_Group group;
    (void)rank, (void)size;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    char port[MPI_MAX_PORT_NAME];
    expect_class(MPI_Open_port(MPI_INFO_NULL, port), MPI_ERR_UNSUPPORTED_OPERATION);
    MPI_Group_free(&group);
}

/* ---- environment ---- */

static void the_environment_is_there(int rank, int size)
{
    (void)rank, (void)size;
    int flag = -1, length = -1, version = -1, sub = -1, provided = -1;
    char name[MPI_MAX_PROCESSOR_NAME], library[MPI_MAX_LIBRARY_VERSION_STRING];
    double before = MPI_Wtime(), *memory = NULL;
    expect_ok(MPI_Initialized(&flag));
    expect(flag == 1, "initialised: %d", flag);
    expect_ok(MPI_Finalized(&flag));
    expect(flag == 0, "finalised: %d", flag);
    expect_ok(MPI_Get_processor_name(name, &length));
    expect(length == (int)strlen(name) && length > 0, "name of %d", length);
    expect_ok(MPI_Get_version(&version, &sub));
    expect(version == MPI_VERSION && sub == MPI_SUBVERSION, "version %d.%d", version, sub);
    expect_ok(MPI_Get_library_version(library, &length));
    expect(length == (int)strlen(library) && length > 0, "library of %d", length);
    expect_ok(MPI_Is_thread_main(&flag));
    expect_ok(MPI_Query_thread(&provided));
    expect(flag == 1 && provided == MPI_THREAD_SINGLE, "main %d, level %d", flag, provided);
    expect_ok(MPI_Alloc_mem(64 * sizeof(double), MPI_INFO_NULL, &memory));
    for (int i = 0; i < 64; i++)
        memory[i] = i;
    expect(memory[63] == 63, "memory holds %g", memory[63]);
    expect_ok(MPI_Free_mem(memory));
    double after = MPI_Wtime();
    expect(after >= before && MPI_Wtick() > 0, "time goes from %g to %g", before, after);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    expect(MPI_Init(NULL, NULL) != MPI_SUCCESS, "a second Init succeeds");
}

static int only_a_session(void *context, int rank)
{
    int *sums = context;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int one = 1;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "only", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Allreduce(&one, &sums[rank], 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    return 0;
}

static void a_session_needs_no_init(void)
{
    int sums[5] = {0};
    struct sim_world_options options = world_options(5);
    struct sim_world *world = sim_world_new(&options, NULL);
    enum trace_outcome outcome = sim_world_run(world, only_a_session, sums);
    sim_world_free(world);
    tap_ok(outcome == OUTCOME_FINISHED && sums[0] == 5 && sums[4] == 5,
           "a session does what it does without MPI_Init");
}

static int call_before_init(void *context, int rank)
{
    (void)context, (void)rank;
    return MPI_Barrier(MPI_COMM_WORLD);
}

static void a_call_before_init_is_fatal(void)
{
    struct sim_world_options options = world_options(2);
    struct sim_world *world = sim_world_new(&options, NULL);
    tap_is_int(sim_world_run(world, call_before_init, NULL), OUTCOME_ABORTED,
               "a call before Init is fatal");
    sim_world_free(world);
}

int main(void)
{
    tap_plan(9);
    world_test("wrong arguments of messages have their error classes in every form",
               wrong_messages_have_their_classes, WORLD_ANY);
    world_test("wrong arguments of collectives have their error classes",
               wrong_collectives_have_their_classes, WORLD_ANY);
    world_test("handlers of the program are called and go with duplicates", handlers_are_called,
               WORLD_ANY);
    world_outcome_is("a duplicate made before its original's handler changed keeps its own",
                     world_options(3), ignore_what_is_fatal, OUTCOME_ABORTED);
    world_outcome_is("MPI_ERRORS_ABORT ends the world", world_options(3), errors_abort,
                     OUTCOME_ABORTED);
    world_test("a function that is not provided says so by its class", call_the_unsupported,
               WORLD_ANY);
    world_test("the environment can be asked", the_environment_is_there, WORLD_ANY);
    a_session_needs_no_init();
    a_call_before_init_is_fatal();
    return tap_done();
}
