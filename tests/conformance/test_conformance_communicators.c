/* Communicators and groups: making, comparing, naming, attributes, freeing; sessions. */
#include "tests/world_harness.h"

static int rank_in(MPI_Comm comm)
{
    int rank = -1;
    MPI_Comm_rank(comm, &rank);
    return rank;
}

static int size_of(MPI_Comm comm)
{
    int size = -1;
    MPI_Comm_size(comm, &size);
    return size;
}

static int sum_over(MPI_Comm comm, int value)
{
    int sum = -1;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum;
}

static void splits_order_by_key_then_rank(int rank, int size)
{
    MPI_Comm half;
    expect_ok(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half));
    int members = (size + 1 - rank % 2) / 2;
    expect(size_of(half) == members, "%d members", size_of(half));
    expect(rank_in(half) == members - 1 - rank / 2, "rank %d", rank_in(half));
    MPI_Comm_free(&half);
    expect_ok(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 7, &half));
    expect(rank_in(half) == rank / 2, "with equal keys %d is rank %d", rank, rank_in(half));
    int wanted = 0;
    for (int r = rank % 2; r < size; r += 2)
        wanted += r;
    expect(sum_over(half, rank) == wanted, "the halves are mixed");
    MPI_Comm_free(&half);
    expect_ok(MPI_Comm_split(MPI_COMM_WORLD, rank ? 3 : MPI_UNDEFINED, rank, &half));
    expect((half == MPI_COMM_NULL) == (rank == 0), "who is undefined has no part");
    if (half != MPI_COMM_NULL) {
        expect(size_of(half) == size - 1 && rank_in(half) == rank - 1, "rank %d", rank_in(half));
        MPI_Comm_free(&half);
    }
    expect_ok(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &half));
    expect(size_of(half) == size, "%d share memory", size_of(half));
    MPI_Comm_free(&half);
}

static void comparisons_tell_the_four_cases(int rank, int size)
{
    MPI_Comm copy, reversed, self;
    int result = -1;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result);
    expect(result == MPI_IDENT, "with itself: %d", result);
    MPI_Comm_compare(MPI_COMM_WORLD, copy, &result);
    expect(result == MPI_CONGRUENT, "with its copy: %d", result);
    MPI_Comm_compare(MPI_COMM_WORLD, reversed, &result);
    expect(result == (size > 1 ? MPI_SIMILAR : MPI_CONGRUENT), "reversed: %d", result);
    MPI_Comm_compare(copy, self, &result);
    expect(result == (size > 1 ? MPI_UNEQUAL : MPI_CONGRUENT), "with self: %d", result);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&reversed);
    MPI_Comm_free(&self);
}

static void groups_make_communicators(int rank, int size)
{
    MPI_Group all, some, rest;
    MPI_Comm made, other;
    int every_third[16], count = 0;
    for (int r = size - 1; r >= 0; r--)
        if (r % 3 == 0)
            every_third[count++] = r;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, count, every_third, &some);
    MPI_Group_difference(all, some, &rest);
    expect_ok(MPI_Comm_create(MPI_COMM_WORLD, some, &made));
    expect((made != MPI_COMM_NULL) == (rank % 3 == 0), "membership of %d", rank);
    if (made != MPI_COMM_NULL) {
        expect(rank_in(made) == count - 1 - rank / 3, "%d is rank %d", rank, rank_in(made));
        MPI_Comm_free(&made);
    }
    /* Two groups at once, each in the call of its members. */
    expect_ok(MPI_Comm_create(MPI_COMM_WORLD, rank % 3 == 0 ? some : rest, &made));
    expect(size_of(made) == (rank % 3 == 0 ? count : size - count), "size %d", size_of(made));
    MPI_Comm_free(&made);
    /* Only members take part. */
    if (rank % 3 == 0) {
        expect_ok(MPI_Comm_create_group(MPI_COMM_WORLD, some, 4, &made));
        expect_ok(MPI_Comm_create_group(MPI_COMM_WORLD, some, 5, &other));
        int result = -1;
        MPI_Comm_compare(made, other, &result);
        expect(result == MPI_CONGRUENT, "two gatherings of one group: %d", result);
        expect(sum_over(made, 1) == count, "%d took part", sum_over(made, 1));
        MPI_Comm_free(&made);
        MPI_Comm_free(&other);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&some);
    if (rest != MPI_GROUP_EMPTY)
        MPI_Group_free(&rest);
    expect_ok(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &made));
    expect(made == MPI_COMM_NULL, "nobody's communicator is null");
}

/* Ranks 0 and 1 cross, or rank 1 names itself alone; the others are of one mind. */
static void crossed_groups_are_refused(int rank, int size)
{
    MPI_Group all, mine;
    MPI_Comm made;
    int both[2] = {0, 1}, crossed[2] = {1, 0}, others[16];
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    expect_ok(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int i = 2; i < size; i++)
        others[i - 2] = i;
    for (int way = 0; way < 3 && size > 1; way++) {
        if (rank == 0)
            MPI_Group_incl(all, 2, both, &mine);
        else if (rank == 1)
            MPI_Group_incl(all, way == 1 ? 1 : 2, way == 0 ? crossed : both + 1 - way / 2, &mine);
        else
            MPI_Group_incl(all, size - 2, others, &mine);
        if (way == 1 && rank == 1) { /* its own group is in order, but rank 0 counts on it */
            expect_ok(MPI_Comm_create(MPI_COMM_WORLD, mine, &made));
            expect(size_of(made) == 1, "alone it is %d", size_of(made));
        } else if (way < 2 && rank < 2) {
            expect_class(MPI_Comm_create(MPI_COMM_WORLD, mine, &made), MPI_ERR_GROUP);
            expect(made == MPI_COMM_NULL, "a communicator was made all the same");
        } else {
            expect_ok(MPI_Comm_create(MPI_COMM_WORLD, mine, &made));
            expect(size_of(made) == (rank < 2 ? 2 : size - 2), "size %d", size_of(made));
        }
        MPI_Group_free(&mine);
        if (made != MPI_COMM_NULL)
            MPI_Comm_free(&made);
    }
    MPI_Group_free(&all);
}

static void nonblocking_duplicates_arrive(int rank, int size)
{
    MPI_Comm copy, other;
    MPI_Request requests[2];
    expect_ok(MPI_Comm_idup(MPI_COMM_WORLD, &copy, &requests[0]));
    expect_ok(MPI_Comm_idup(MPI_COMM_WORLD, &other, &requests[1]));
    expect_ok(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    expect(size_of(copy) == size && rank_in(copy) == rank, "rank %d", rank_in(copy));
    int result = -1;
    MPI_Comm_compare(copy, other, &result);
    expect(result == MPI_CONGRUENT, "the copies are %d", result);
    expect(sum_over(other, 1) == size, "sum %d", sum_over(other, 1));
    MPI_Comm_free(&copy);
    MPI_Comm_free(&other);
}

static void names_are_kept(int rank, int size)
{
    (void)rank, (void)size;
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1;
    MPI_Comm copy;
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    expect(!strcmp(name, "MPI_COMM_WORLD") && length == 14, "the world is %s", name);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_get_name(copy, name, &length);
    expect(length == 0 && !name[0], "a new one is %s", name);
    MPI_Comm_set_name(copy, "rows");
    MPI_Comm_get_name(copy, name, &length);
    expect(!strcmp(name, "rows"), "it is %s", name);
    MPI_Comm_free(&copy);
    MPI_Type_get_name(MPI_INT, name, &length);
    expect(!strcmp(name, "MPI_INT") && length == 7, "the type is %s", name);
    if (rank == 0) {
        MPI_Type_set_name(MPI_INT, "first");
        MPI_Type_set_name(MPI_INT, "number");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_get_name(MPI_INT, name, &length);
    expect(!strcmp(name, rank == 0 ? "number" : "MPI_INT"), "the type is %s", name);
}

/* ---- attributes ---- */

struct calls { /* in the program's memory, reached through extra_state */
    int copies, deletes, deleted[8];
};

static int copy_doubled(MPI_Comm comm, int keyval, void *extra, void *value, void *copied,
                        int *flag)
{
    (void)comm, (void)keyval;
    ((struct calls *)extra)->copies++;
    *(void **)copied = (char *)value + (intptr_t)value;
    *flag = 1;
    return MPI_SUCCESS;
}

static int copy_not(MPI_Comm comm, int keyval, void *extra, void *value, void *copied, int *flag)
{
    (void)comm, (void)keyval, (void)value, (void)copied;
    ((struct calls *)extra)->copies++;
    *flag = 0;
    return MPI_SUCCESS;
}

static int copy_fails(MPI_Comm comm, int keyval, void *extra, void *value, void *copied, int *flag)
{
    (void)comm, (void)keyval, (void)extra, (void)value, (void)copied, (void)flag;
    return MPI_ERR_OTHER;
}

static int note_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval;
    struct calls *calls = extra;
    if (calls->deletes < 8)
        calls->deleted[calls->deletes] = (int)(intptr_t)value;
    calls->deletes++;
    return MPI_SUCCESS;
}

static long attribute(MPI_Comm comm, int keyval)
{
    void *value = NULL;
    int flag = 0;
    MPI_Comm_get_attr(comm, keyval, &value, &flag);
    return flag ? (long)(intptr_t)value : -1;
}

static void attributes_follow_duplicates(int rank, int size)
{
    (void)rank, (void)size;
    struct calls calls = {0};
    int doubled, kept, left;
    MPI_Comm first, copy;
    MPI_Comm_create_keyval(copy_doubled, note_delete, &doubled, &calls);
    MPI_Comm_create_keyval(copy_not, note_delete, &left, &calls);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &kept, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    expect(attribute(first, doubled) == -1, "it has an attribute nobody set");
    MPI_Comm_set_attr(first, doubled, (void *)21);
    MPI_Comm_set_attr(first, left, (void *)5);
    MPI_Comm_set_attr(first, kept, (void *)77);
    MPI_Comm_dup(first, &copy);
    expect(attribute(copy, doubled) == 42, "copied: %ld", attribute(copy, doubled));
    expect(attribute(copy, left) == -1 && attribute(copy, kept) == 77, "left %ld, kept %ld",
           attribute(copy, left), attribute(copy, kept));
    expect(calls.copies == 2 && calls.deletes == 0, "%d copies", calls.copies);
    MPI_Comm_set_attr(copy, doubled, (void *)1);
    expect(calls.deletes == 1 && calls.deleted[0] == 42, "replacing deletes: %d", calls.deletes);
    MPI_Comm_delete_attr(copy, doubled);
    expect(calls.deletes == 2 && calls.deleted[1] == 1, "deleting deletes: %d", calls.deletes);
    MPI_Comm_free(&copy);
    expect(calls.deletes == 2, "the copy had nothing left: %d", calls.deletes);
    int number = doubled;
    MPI_Comm_free_keyval(&number);
    expect(number == MPI_KEYVAL_INVALID, "the freed keyval is invalid");
    MPI_Comm_free(&first);
    expect(calls.deletes == 4 && calls.deleted[2] == 5 && calls.deleted[3] == 21,
           "freeing deletes in reverse order: %d, %d %d", calls.deletes, calls.deleted[2],
           calls.deleted[3]);
    MPI_Comm_free_keyval(&left);
    MPI_Comm_free_keyval(&kept);
}

static void a_failing_copy_fails_the_duplicate(int rank, int size)
{
    int keyval;
    MPI_Comm copy;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_create_keyval(copy_fails, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, NULL);
    int class, error = MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Error_class(error, &class);
    expect(class == MPI_ERR_OTHER, "class %d", class);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
    MPI_Comm_free_keyval(&keyval);
    expect(sum_over(MPI_COMM_WORLD, rank) == size * (size - 1) / 2, "the world goes on");
}

static void the_world_has_its_attributes(int rank, int size)
{
    (void)rank;
    int *value = NULL, flag = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    expect(flag && *value >= 32767, "tags up to %d", flag ? *value : -1);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag);
    expect(flag && *value == size, "universe of %d", flag ? *value : -1);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag);
    expect(flag && *value == 1, "one clock");
    int tag = -1;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    MPI_Request request;
    MPI_Isend(&rank, 1, MPI_INT, rank, *value, MPI_COMM_WORLD, &request);
    MPI_Recv(&tag, 1, MPI_INT, rank, *value, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect_ok(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (*value < 0x7fffffff)
        expect_class(MPI_Send(&rank, 1, MPI_INT, rank, *value + 1, MPI_COMM_WORLD), MPI_ERR_TAG);
}

static void messages_outlive_their_communicator(int rank, int size)
{
    MPI_Comm copy;
    MPI_Request requests[2];
    int got = -1, next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Irecv(&got, 1, MPI_INT, previous, 1, copy, &requests[0]);
    MPI_Isend(&rank, 1, MPI_INT, next, 1, copy, &requests[1]);
    MPI_Comm_free(&copy);
    expect_ok(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    expect(got == previous, "got %d", got);
}

static void stale_handles_are_refused(int rank, int size)
{
    (void)rank, (void)size;
    MPI_Comm copy, stale;
    int number;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    stale = copy;
    MPI_Comm_free(&copy);
    expect_class(MPI_Comm_rank(stale, &number), MPI_ERR_COMM);
    expect_class(MPI_Barrier(stale), MPI_ERR_COMM);
    expect_class(MPI_Send(&number, 1, MPI_INT, 0, 0, stale), MPI_ERR_COMM);
    expect_class(MPI_Comm_free(&copy), MPI_ERR_COMM);
    copy = MPI_COMM_WORLD;
    expect_class(MPI_Comm_free(&copy), MPI_ERR_COMM);
    expect_class(MPI_Comm_remote_size(MPI_COMM_WORLD, &number), MPI_ERR_COMM);
    expect_class(MPI_Comm_split(MPI_COMM_WORLD, -3, 0, &copy), MPI_ERR_ARG);
    expect_class(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &copy), MPI_ERR_GROUP);
}

/* ---- hints, codes, sessions ---- */

static void hints_are_given_back(int rank, int size)
{
    (void)rank, (void)size;
    MPI_Info info, used;
    MPI_Comm copy;
    char value[32] = "";
    int room = sizeof value, flag = 0;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    expect_ok(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &copy));
    MPI_Info_free(&info);
    expect_ok(MPI_Comm_get_info(copy, &used));
    MPI_Info_get_string(used, "mpi_assert_no_any_tag", &room, value, &flag);
    expect(flag && !strcmp(value, "true"), "the hint is %s", value);
    MPI_Info_free(&used);
    MPI_Comm_free(&copy);
}

static void error_codes_can_be_added(int rank, int size)
{
    (void)rank, (void)size;
    int class, code, found = -1, length, *last, flag;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    expect_ok(MPI_Add_error_class(&class));
    expect_ok(MPI_Add_error_code(class, &code));
    expect(class > MPI_ERR_LASTCODE && code > class, "class %d, code %d", class, code);
    expect_ok(MPI_Add_error_string(code, "the well is dry"));
    MPI_Error_class(code, &found);
    MPI_Error_string(code, text, &length);
    expect(found == class && !strcmp(text, "the well is dry") && length == 15, "%s", text);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
    expect(flag && *last >= code, "the last code is %d", *last);
    expect(MPI_Comm_call_errhandler(MPI_COMM_WORLD, code) == MPI_SUCCESS, "handlers take it");
    expect(MPI_Remove_error_class(class) != MPI_SUCCESS, "a class with codes was removed");
    expect_ok(MPI_Remove_error_string(code));
    expect_ok(MPI_Remove_error_code(code));
    expect_ok(MPI_Remove_error_class(class));
    expect(MPI_Error_class(code, &found) != MPI_SUCCESS, "a removed code has a class");
    MPI_Error_string(MPI_ERR_TRUNCATE, text, &length);
    expect(strstr(text, "TRUNCATE") != NULL && length == (int)strlen(text), "%s", text);
}

/* What the last call of a rank's handler was told. */
static struct told {
    int calls, class;
    MPI_Session session;
} told_of[64];

static struct told *told_here(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return &told_of[rank];
}

static void on_session(MPI_Session *session, int *code, ...)
{
    struct told *told = told_here();
    told->calls++;
    told->session = *session;
    MPI_Error_class(*code, &told->class);
}

static void on_communicator(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    told_here()->calls = -1;
}

/* Two sessions, each with an error of its own: whose handler is called, and with what. */
static void sessions_have_handlers(int rank, int size)
{
    (void)size;
    struct told *told = &told_of[rank];
    MPI_Session first, second;
    MPI_Errhandler own, got, other;
    MPI_Group group;
    int calls = 0, length = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    expect_ok(MPI_Session_create_errhandler(on_session, &own));
    expect_ok(MPI_Comm_create_errhandler(on_communicator, &other));
    expect_class(MPI_Session_create_errhandler(NULL, &got), MPI_ERR_ARG);
    expect_class(MPI_Session_init(MPI_INFO_NULL, other, &first), MPI_ERR_ERRHANDLER);
    expect_class(MPI_Comm_set_errhandler(MPI_COMM_SELF, own), MPI_ERR_ERRHANDLER);
    expect_ok(MPI_Session_init(MPI_INFO_NULL, own, &first));
    expect_ok(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &second));
    told->calls = 0;
    MPI_Session both[] = {first, second};
    for (int s = 0; s < 2; s++) {
        expect_class(MPI_Group_from_session_pset(both[s], "mpi://NOWHERE", &group), MPI_ERR_ARG);
        expect(told->calls == (calls += 1 - s), "%d calls", told->calls);
        expect_class(MPI_Session_get_nth_pset(both[s], MPI_INFO_NULL, 9, &length, NULL),
                     MPI_ERR_ARG);
        expect(told->calls == (calls += 1 - s), "%d calls", told->calls);
        expect_class(MPI_Session_set_errhandler(both[s], other), MPI_ERR_ERRHANDLER);
        expect(told->calls == (calls += 1 - s), "%d calls", told->calls);
        expect(told->session == first, "of another session");
        expect_ok(MPI_Session_call_errhandler(both[s], MPI_ERR_NAME));
        expect(told->calls == (calls += 1 - s), "%d calls", told->calls);
        expect(told->class == MPI_ERR_NAME, "class %d", told->class);
    }
    expect_ok(MPI_Session_get_errhandler(first, &got));
    expect(got == own, "another handler than was set");
    expect_ok(MPI_Session_set_errhandler(second, got));
    expect_ok(MPI_Errhandler_free(&got));
    expect_ok(MPI_Errhandler_free(&own)); /* the sessions keep it */
    expect_ok(MPI_Session_finalize(&first));
    expect_class(MPI_Group_from_session_pset(second, "mpi://NOWHERE", &group), MPI_ERR_ARG);
    expect(told->calls == calls + 1 && told->session == second, "%d calls", told->calls);
    expect_ok(MPI_Session_set_errhandler(second, MPI_ERRORS_RETURN));
    expect_class(MPI_Group_from_session_pset(second, "mpi://NOWHERE", &group), MPI_ERR_ARG);
    expect(told->calls == calls + 1, "a handler that is set no longer is called");
    expect_ok(MPI_Session_finalize(&second));
    expect_class(MPI_Session_call_errhandler(second, MPI_ERR_ARG), MPI_ERR_SESSION);
    expect_ok(MPI_Errhandler_free(&other));
    expect(told->calls == calls + 1, "the communicators' handler is called");
}

static void sessions_give_communicators(int rank, int size)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Info info;
    int count = 0, flag = 0, room = 16, length = 64;
    char name[64], number[16] = "";
    expect_ok(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    expect_ok(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count));
    expect(count >= 2, "%d process sets", count);
    expect_ok(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, name));
    expect(!strcmp(name, "mpi://WORLD") && length == 12, "%s, %d long", name, length);
    expect_ok(MPI_Session_get_pset_info(session, "mpi://WORLD", &info));
    MPI_Info_get_string(info, "mpi_size", &room, number, &flag);
    expect(flag && atoi(number) == size, "size %s", number);
    MPI_Info_free(&info);
    expect_ok(MPI_Group_from_session_pset(session, "mpi://world", &group));
    expect_ok(MPI_Comm_create_from_group(group, "tests", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    expect(rank_in(comm) == rank && sum_over(comm, 1) == size, "rank %d", rank_in(comm));
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    expect(MPI_Group_from_session_pset(session, "mpi://NOWHERE", &group) != MPI_SUCCESS,
           "an unknown set has a group");
    expect_ok(MPI_Session_finalize(&session));
    expect(session == MPI_SESSION_NULL, "the session is null");
}

static void the_tool_interface_is_empty(int rank, int size)
{
    (void)rank, (void)size;
    int provided, count = -1;
    expect(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS, "it begins");
    expect(MPI_T_cvar_get_num(&count) == MPI_SUCCESS && count == 0, "%d variables", count);
    expect(MPI_T_pvar_get_num(&count) == MPI_SUCCESS && count == 0, "%d measures", count);
    expect(MPI_T_cvar_get_index("none", &count) == MPI_T_ERR_INVALID_NAME, "a name is known");
    /* Whoever asks on is told that there is no such thing. */
    int list[2], length = 0;
    MPI_Count ticks;
    MPI_T_event_registration event;
    const int none[] = {MPI_T_event_get_info(0, NULL, &length, NULL, NULL, NULL, NULL, NULL, NULL,
                                             NULL, NULL, NULL),
                        MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &event),
                        MPI_T_source_get_info(0, NULL, &length, NULL, NULL, NULL, NULL, NULL, NULL),
                        MPI_T_source_get_timestamp(0, &ticks),
                        MPI_T_category_get_cvars(0, 2, list),
                        MPI_T_category_get_pvars(0, 2, list),
                        MPI_T_category_get_events(0, 2, list),
                        MPI_T_category_get_categories(0, 2, list),
                        MPI_T_category_get_num_events(0, &count)};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        expect(none[i] == MPI_T_ERR_INVALID_INDEX, "index, question %zu: %d", i, none[i]);
    MPI_T_pvar_session session;
    MPI_T_pvar_session_create(&session);
    const int lost[] = {MPI_T_cvar_read(MPI_T_CVAR_HANDLE_NULL, list),
                        MPI_T_cvar_write(MPI_T_CVAR_HANDLE_NULL, list),
                        MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &count, NULL, &length),
                        MPI_T_pvar_read(session, MPI_T_PVAR_HANDLE_NULL, list),
                        MPI_T_pvar_start(session, MPI_T_PVAR_HANDLE_NULL),
                        MPI_T_pvar_stop(session, MPI_T_PVAR_HANDLE_NULL),
                        MPI_T_pvar_reset(session, MPI_T_PVAR_HANDLE_NULL)};
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++)
        expect(lost[i] == MPI_T_ERR_INVALID_HANDLE, "handle, question %zu: %d", i, lost[i]);
    expect(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS, "all start");
    expect(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS, "all stop");
    MPI_T_pvar_session_free(&session);
    expect(MPI_T_finalize() == MPI_SUCCESS, "it ends");
}

int main(void)
{
    tap_plan(16);
    world_test("splits order by key, equal keys by rank", splits_order_by_key_then_rank, WORLD_ANY);
    world_test("comparisons tell the same, a copy, another order and another group",
               comparisons_tell_the_four_cases, WORLD_ANY);
    world_test("groups make communicators of their members", groups_make_communicators, WORLD_ANY);
    world_test("nonblocking duplicates are there when their requests are complete",
               nonblocking_duplicates_arrive, WORLD_ANY);
    world_test("names are kept", names_are_kept, WORLD_ANY);
    world_test("attributes are copied and deleted as their functions say",
               attributes_follow_duplicates, WORLD_ANY);
    world_test("a failing copy function fails the duplicate", a_failing_copy_fails_the_duplicate,
               WORLD_ANY);
    world_test("the world has the standard's attributes", the_world_has_its_attributes, WORLD_ANY);
    world_test("messages under way outlive their communicator's handle",
               messages_outlive_their_communicator, WORLD_ANY);
    world_test("stale and wrong handles have their error classes", stale_handles_are_refused,
               WORLD_ANY);
    world_test("hints are given back", hints_are_given_back, WORLD_ANY);
    world_test("error classes and codes can be added and removed", error_codes_can_be_added,
               WORLD_ANY);
    world_test("crossed groups make no communicator", crossed_groups_are_refused, WORLD_ANY);
    world_test("sessions give groups and communicators", sessions_give_communicators, WORLD_ANY);
    world_test("a session's errors go to its own handler", sessions_have_handlers, WORLD_ANY);
    world_test("the tool interface is there and empty", the_tool_interface_is_empty, WORLD_ANY);
    return tap_done();
}
