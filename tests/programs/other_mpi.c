/* Everything in which MPIs differ under the surface: constants, statuses, callbacks, attributes, strings. Built with any MPI's compiler it
 * prints the same; what a constant is called is said, never its value. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

#define SAY(...)           (rank == 0 ? printf(__VA_ARGS__) : 0)
#define NAMED(value, name) ((value) == (name) ? #name : "?")

static void sum_squares(void *in, void *inout, int *count, MPI_Datatype *type)
{
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i] * (*type == MPI_INT);
}

static int copies, deletes, called;

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)key;
    copies += *(int *)extra * (comm == MPI_COMM_WORLD);
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int removed(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value;
    deletes += *(int *)extra;
    return MPI_SUCCESS;
}

static void handler(MPI_Comm *comm, int *code, ...)
{
    int class;
    MPI_Error_class(*code, &class);
    called += *comm == MPI_COMM_WORLD && class == MPI_ERR_RANK;
}

static void messages(void)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size, count, flag, from = rank,
        to = -1;
    MPI_Status status, both[2];
    MPI_Request requests[2];
    double x[3] = {rank, 1, 2}, y[8];
    MPI_Sendrecv(x, 3, MPI_DOUBLE, next, 7, y, 8, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG,
                 MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    SAY("sendrecv %d %d %d %g\n", status.MPI_SOURCE == last, status.MPI_TAG, count, y[1]);
    MPI_Get_count(&status, MPI_2INT, &count);
    SAY("pairs %d\n", count);
    MPI_Recv(y, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
    SAY("nobody %s %s\n", NAMED(status.MPI_SOURCE, MPI_PROC_NULL),
        NAMED(status.MPI_TAG, MPI_ANY_TAG));
    MPI_Send_init(&from, 1, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&to, 1, MPI_INT, last, 1, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 2; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, both);
    }
    SAY("persistent %d %d\n", to == last, both[1].MPI_SOURCE == last);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    SAY("freed %s\n", NAMED(requests[0], MPI_REQUEST_NULL));
    MPI_Irecv(&to, 1, MPI_INT, last, 99, MPI_COMM_WORLD, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], &status);
    MPI_Test_cancelled(&status, &flag);
    SAY("cancelled %d\n", flag != 0);
    MPI_Testany(1, requests, &count, &flag, &status);
    SAY("none %s %d\n", NAMED(count, MPI_UNDEFINED), flag);
    char *room = malloc(100 * (sizeof x + MPI_BSEND_OVERHEAD)), *back;
    MPI_Buffer_attach(room, 100 * (int)(sizeof x + MPI_BSEND_OVERHEAD));
    for (int i = 0; i < 100; i++)
        MPI_Bsend(x, 3, MPI_DOUBLE, next, 5, MPI_COMM_WORLD);
    for (int i = 0; i < 100; i++)
        MPI_Recv(y, 3, MPI_DOUBLE, last, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&back, &count);
    SAY("detached %d %d\n", back == room, count == 100 * (int)(sizeof x + MPI_BSEND_OVERHEAD));
    free(room);
    MPI_Message message;
    MPI_Isend(&from, 1, MPI_INT, next, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Mprobe(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(&to, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    SAY("matched %d %s\n", to == last, NAMED(message, MPI_MESSAGE_NULL));
}

static void collectives(void)
{
    int x[8], total[2] = {rank, 1};
    MPI_Op op;
    MPI_Op_create(sum_squares, 1, &op);
    MPI_Allreduce(MPI_IN_PLACE, total, 2, MPI_INT, op, MPI_COMM_WORLD);
    SAY("own operation %d %d\n", total[0], total[1]);
    MPI_Op_free(&op);
    SAY("freed %s\n", NAMED(op, MPI_OP_NULL));
    for (int i = 0; i < size; i++)
        x[i] = rank * 10 + i;
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, x, 1, MPI_INT, MPI_COMM_WORLD);
    SAY("alltoall %d\n", x[size - 1]);
    int *counts = calloc((size_t)size, sizeof *counts),
        *offsets = calloc((size_t)size, sizeof *offsets), y[8] = {0};
    MPI_Datatype *types = calloc((size_t)size, sizeof *types);
    for (int i = 0; i < size; i++)
        counts[i] = 1, offsets[i] = 4 * i, types[i] = i % 2 == rank % 2 ? MPI_INT : MPI_FLOAT;
    MPI_Alltoallw(x, counts, offsets, types, y, counts, offsets, types, MPI_COMM_WORLD);
    SAY("alltoallw %d\n", y[size - 1]);
    free(counts), free(offsets), free(types);
    struct {
        double value;
        int at;
    } mine = {rank % 2, rank}, best;
    MPI_Reduce(&mine, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, 0, MPI_COMM_WORLD);
    SAY("maxloc %g %d\n", best.value, best.at);
}

static void objects(void)
{
    MPI_Comm cart, half;
    int periods[2] = {1, 0}, dims[2] = {0, 1}, source, target, order, topology,
        ranks[2] = {0, MPI_PROC_NULL}, out[2];
    MPI_Group world, empty;
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart);
    MPI_Cart_shift(cart, 1, 1, &source, &target);
    MPI_Topo_test(cart, &topology);
    SAY("cart %s %s\n", NAMED(topology, MPI_CART), NAMED(target, MPI_PROC_NULL));
    MPI_Topo_test(MPI_COMM_WORLD, &topology);
    SAY("plain %s\n", NAMED(topology, MPI_UNDEFINED));
    MPI_Comm_compare(cart, MPI_COMM_WORLD, &order);
    SAY("compared %s\n", NAMED(order, MPI_CONGRUENT));
    MPI_Comm_free(&cart);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2 ? MPI_UNDEFINED : 0, 0, &half);
    printf("half of %d is null: %d\n", rank, half == MPI_COMM_NULL);
    if (half != MPI_COMM_NULL)
        MPI_Comm_free(&half);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &half);
    MPI_Comm_compare(half, MPI_COMM_WORLD, &order);
    SAY("node %s\n", NAMED(order, MPI_CONGRUENT));
    MPI_Comm_free(&half);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(world, 2, ranks, MPI_GROUP_EMPTY, out);
    SAY("translated %s %s\n", NAMED(out[0], MPI_UNDEFINED), NAMED(out[1], MPI_PROC_NULL));
    MPI_Group_difference(world, world, &empty);
    MPI_Group_compare(empty, MPI_GROUP_EMPTY, &order);
    SAY("empty %s\n", NAMED(order, MPI_IDENT));
    MPI_Group_free(&world);
    MPI_Info info;
    char value[MPI_MAX_INFO_VAL + 1], key[MPI_MAX_INFO_KEY + 1];
    MPI_Info_create(&info);
    MPI_Info_set(info, "colour", "blue");
    MPI_Info_get_nthkey(info, 0, key);
    MPI_Info_get(info, "colour", MPI_MAX_INFO_VAL, value, &order);
    SAY("info %s %s\n", key, value);
    MPI_Info_free(&info);
    SAY("freed %s\n", NAMED(info, MPI_INFO_NULL));
}

static void datatypes(void)
{
    int lengths[2] = {2, 1}, integers, addresses, types, combiner, numbers[8], whole[2] = {4, 4},
        part[2] = {2, 2}, start[2] = {1, 1};
    MPI_Aint places[2] = {0, 8}, lower, extent, where[4];
    MPI_Datatype members[2] = {MPI_INT, MPI_DOUBLE}, made, parts[4];
    MPI_Type_create_struct(2, lengths, places, members, &made);
    MPI_Type_commit(&made);
    MPI_Type_get_extent(made, &lower, &extent);
    MPI_Type_get_envelope(made, &integers, &addresses, &types, &combiner);
    SAY("struct %ld %d %d %d %s\n", (long)extent, integers, addresses, types,
        NAMED(combiner, MPI_COMBINER_STRUCT));
    MPI_Type_get_contents(made, integers, addresses, types, numbers, where, parts);
    SAY("members %s %s %d\n", NAMED(parts[0], MPI_INT), NAMED(parts[1], MPI_DOUBLE), numbers[1]);
    char name[MPI_MAX_OBJECT_NAME], packed[64];
    MPI_Type_set_name(made, "two ints and a double");
    MPI_Type_get_name(made, name, &integers);
    SAY("name %s %d\n", name, integers);
    MPI_Type_get_name(MPI_UNSIGNED_LONG, name, &integers);
    SAY("name %s\n", name);
    MPI_Type_free(&made);
    SAY("freed %s\n", NAMED(made, MPI_DATATYPE_NULL));
    MPI_Type_create_subarray(2, whole, part, start, MPI_ORDER_FORTRAN, MPI_CHAR, &made);
    MPI_Type_size(made, &integers);
    MPI_Type_free(&made);
    int position = 0;
    MPI_Pack(&rank, 1, MPI_INT, packed, sizeof packed, &position, MPI_COMM_WORLD);
    SAY("subarray %d packed %d\n", integers, position);
    MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &made);
    MPI_Type_size(made, &integers);
    SAY("eight bytes %d\n", integers);
}

static void errors(void)
{
    int class, length, one = 1, key, flag, x = 0;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Errhandler errhandler, now;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &now);
    SAY("handler %s\n", NAMED(now, MPI_ERRORS_ARE_FATAL));
    MPI_Comm_create_errhandler(handler, &errhandler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler);
    MPI_Send(&x, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
    SAY("called %d\n", called);
    MPI_Errhandler_free(&errhandler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Send(&x, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), &class);
    SAY("count %s\n", NAMED(class, MPI_ERR_COUNT));
    MPI_Error_class(MPI_Send(&x, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), &class);
    SAY("type %s\n", NAMED(class, MPI_ERR_TYPE));
    MPI_Error_class(MPI_Bcast(&x, 1, MPI_INT, -5, MPI_COMM_WORLD), &class);
    SAY("root %s\n", NAMED(class, MPI_ERR_ROOT));
    MPI_Error_string(MPI_ERR_TRUNCATE, text, &length);
    SAY("text %d\n", length == (int)strlen(text) && length > 3);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_create_keyval(copy, removed, &key, &one);
    MPI_Comm other;
    void *value;
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &x);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_get_attr(other, key, &value, &flag);
    SAY("attribute %d %d %d\n", flag, value == (void *)&x, copies);
    MPI_Comm_free(&other);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Comm_free_keyval(&key);
    SAY("deleted %d %s\n", deletes, NAMED(key, MPI_KEYVAL_INVALID));
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &one);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_get_attr(other, key, &value, &flag);
    SAY("duplicated %d\n", flag && value == (void *)&one);
    MPI_Comm_free(&other);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    SAY("tags %d\n", flag && *(int *)value >= 32767);
}

static void windows(void)
{
    int memory[4] = {0}, x = rank + 1, *model, flag;
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &model, &flag);
    SAY("flavour %s\n", NAMED(*model, MPI_WIN_FLAVOR_CREATE));
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Put(&x, 1, MPI_INT, (rank + 1) % size, 1, 1, MPI_INT, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Accumulate(&x, 1, MPI_INT, 0, 2, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Get(&x, 1, MPI_INT, 0, 2, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
    SAY("window %d %d\n", memory[1], x);
    MPI_Win_free(&win);
    SAY("freed %s\n", NAMED(win, MPI_WIN_NULL));
}

static int query(void *extra, MPI_Status *status)
{
    MPI_Status_set_elements(status, MPI_INT, *(int *)extra);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = 3;
    return MPI_SUCCESS;
}

static int release(void *extra)
{
    *(int *)extra = -1;
    return MPI_SUCCESS;
}

static int stop(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

static void generalised(void)
{
    int five = 5, count;
    MPI_Request request;
    MPI_Status status;
    MPI_Grequest_start(query, release, stop, &five, &request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    SAY("generalised %d %d %d\n", count, status.MPI_TAG, five);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    SAY("threads %d\n", provided >= MPI_THREAD_FUNNELED && provided <= MPI_THREAD_MULTIPLE);
    messages();
    collectives();
    objects();
    datatypes();
    errors();
    windows();
    generalised();
    MPI_Finalize();
    return 0;
}
