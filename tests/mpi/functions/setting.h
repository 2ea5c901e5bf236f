/* setting.h: what every call of the generated program is given: one right object of each kind, the same freed, and places for results.
 * Made anew for every call and released after it, so that a right call leaves nothing behind. */
#ifndef SETTING_H
#define SETTING_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, wrong; /* wrong: the call is to be refused */
static int in[64], out[64], counts[2], negative[2], places[2], bytes[2], numbers[256], position;
static MPI_Count counts_c[2], negative_c[2], places_c[2], numbers_c[256], position_c;
static MPI_Aint places_a[2], bytes_a[2], numbers_a[256], position_a;
static char words[2048], room[4096];
static void *pointer;
static MPI_Datatype types[2], no_types[2];
static MPI_Comm comm, cart, graph, neighbours, inter, freed_comm, made_comm;
static MPI_Datatype strided, uncommitted, freed_type, made_type;
static MPI_Op sum, freed_op, made_op;
static MPI_Group group, freed_group, made_group;
static MPI_Info info, freed_info, made_info;
static MPI_Errhandler handler, freed_handler, made_handler;
static MPI_Session session, made_session;
static MPI_Win win, made_win;
static MPI_Request active, inactive, general, freed_request, made_request, requests[2];
static MPI_Message message, no_message;
static MPI_Status status, statuses[2];
static int comm_key, type_key, win_key, freed_key;

static inline void add(void *from, void *to, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)to)[i] += ((int *)from)[i];
}

static inline void add_c(void *from, void *to, MPI_Count *count, MPI_Datatype *type)
{
    int number = (int)*count;
    add(from, to, &number, type);
}

static inline void hear(MPI_Comm *c, int *error, ...)
{
    (void)c, (void)error;
}

static inline void hear_win(MPI_Win *w, int *error, ...)
{
    (void)w, (void)error;
}

static inline void hear_session(MPI_Session *s, int *error, ...)
{
    (void)s, (void)error;
}

static inline int query(void *state, MPI_Status *s)
{
    (void)state;
    MPI_Status_set_cancelled(s, 0);
    return MPI_Status_set_elements(s, MPI_INT, 0);
}

static inline int free_state(void *state)
{
    (void)state;
    return 0;
}

static inline int cancel_state(void *state, int complete)
{
    (void)state, (void)complete;
    return 0;
}

static inline void make_values(void)
{
    for (int i = 0; i < 2; i++) {
        counts[i] = 1, counts_c[i] = 1, places[i] = i, places_c[i] = i, places_a[i] = i;
        bytes[i] = 4 * i, bytes_a[i] = 4 * i, types[i] = MPI_INT,
        no_types[i] = i ? MPI_INT : MPI_DATATYPE_NULL;
        negative[i] = i - 1, negative_c[i] = i - 1;
    }
    memset(numbers, 0, sizeof numbers), memset(numbers_c, 0, sizeof numbers_c);
    memset(numbers_a, 0, sizeof numbers_a), memset(words, 0, sizeof words);
    position = 0, position_c = 0, position_a = 0, pointer = NULL;
    message = MPI_MESSAGE_NO_PROC, no_message = MPI_MESSAGE_NULL;
    made_comm = MPI_COMM_NULL, made_type = MPI_DATATYPE_NULL, made_op = MPI_OP_NULL;
    made_group = MPI_GROUP_NULL, made_info = MPI_INFO_NULL, made_handler = MPI_ERRHANDLER_NULL;
    made_session = MPI_SESSION_NULL, made_win = MPI_WIN_NULL, made_request = MPI_REQUEST_NULL;
    memset(&status, 0, sizeof status), memset(statuses, 0, sizeof statuses);
}

static inline void make_objects(MPI_Errhandler chosen)
{
    int two = 2, yes = 1, index[2] = {1, 2}, edges[2] = {1, 0}, other = 1 - rank;
    MPI_Comm half;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, chosen);
    MPI_Comm_dup(comm, &freed_comm);
    MPI_Comm copy = freed_comm;
    MPI_Comm_free(&copy);
    MPI_Cart_create(comm, 1, &two, &yes, 0, &cart);
    MPI_Graph_create(comm, 2, index, edges, 0, &graph);
    MPI_Dist_graph_create_adjacent(comm, 1, &other, MPI_UNWEIGHTED, 1, &other, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &neighbours);
    MPI_Comm_split(comm, rank, 0, &half);
    MPI_Intercomm_create(half, 0, comm, other, 3, &inter);
    MPI_Comm_free(&half);
    MPI_Type_vector(2, 1, 2, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    MPI_Type_vector(2, 1, 2, MPI_INT, &uncommitted);
    MPI_Type_dup(strided, &freed_type);
    MPI_Datatype type = freed_type;
    MPI_Type_free(&type);
    MPI_Op_create(add, 1, &sum);
    MPI_Op_create(add, 1, &freed_op);
    MPI_Op op = freed_op;
    MPI_Op_free(&op);
    MPI_Comm_group(comm, &group);
    MPI_Group_incl(group, 1, &rank, &freed_group);
    MPI_Group some = freed_group;
    MPI_Group_free(&some);
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    MPI_Info_dup(info, &freed_info);
    MPI_Info hints = freed_info;
    MPI_Info_free(&hints);
    MPI_Comm_create_errhandler(hear, &handler);
    MPI_Comm_create_errhandler(hear, &freed_handler);
    MPI_Errhandler heard = freed_handler;
    MPI_Errhandler_free(&heard);
}

static inline void make_requests(MPI_Errhandler chosen)
{
    MPI_Session_init(MPI_INFO_NULL, chosen, &session);
    MPI_Win_create(room, sizeof room, 1, MPI_INFO_NULL, comm, &win);
    MPI_Win_set_errhandler(win, chosen);
    MPI_Irecv(out, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &active);
    MPI_Recv_init(out, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &inactive);
    MPI_Grequest_start(query, free_state, cancel_state, NULL, &general);
    MPI_Irecv(out, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[0]);
    requests[1] = MPI_REQUEST_NULL;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, NULL);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &win_key, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &freed_key, NULL);
    int key = freed_key;
    MPI_Comm_free_keyval(&key);
    MPI_Recv_init(out, 1, MPI_INT, MPI_PROC_NULL, 0, comm,
                  &freed_request); /* last: the next takes its place */
    MPI_Request copy = freed_request;
    MPI_Request_free(&copy);
}

#define RELEASE(free, object, null)                                                                \
    if ((object) != (null))                                                                        \
    free(&(object))

#define WAIT(request)                                                                              \
    if ((request) != MPI_REQUEST_NULL)                                                             \
    MPI_Wait(&(request), MPI_STATUS_IGNORE)

static inline void release(void)
{
    RELEASE(MPI_Request_free, inactive, MPI_REQUEST_NULL);
    if (general != MPI_REQUEST_NULL)
        MPI_Grequest_complete(general);
    WAIT(general);
    WAIT(active);
    WAIT(requests[0]);
    RELEASE(MPI_Comm_free_keyval, comm_key, MPI_KEYVAL_INVALID);
    RELEASE(MPI_Type_free_keyval, type_key, MPI_KEYVAL_INVALID);
    RELEASE(MPI_Win_free_keyval, win_key, MPI_KEYVAL_INVALID);
    RELEASE(MPI_Errhandler_free, handler, MPI_ERRHANDLER_NULL);
    RELEASE(MPI_Errhandler_free, made_handler, MPI_ERRHANDLER_NULL);
    RELEASE(MPI_Info_free, info, MPI_INFO_NULL);
    RELEASE(MPI_Info_free, made_info, MPI_INFO_NULL);
    RELEASE(MPI_Group_free, group, MPI_GROUP_NULL);
    RELEASE(MPI_Group_free, made_group, MPI_GROUP_NULL);
    RELEASE(MPI_Op_free, sum, MPI_OP_NULL);
    RELEASE(MPI_Op_free, made_op, MPI_OP_NULL);
    RELEASE(MPI_Type_free, strided, MPI_DATATYPE_NULL);
    RELEASE(MPI_Type_free, uncommitted, MPI_DATATYPE_NULL);
    RELEASE(MPI_Type_free, made_type, MPI_DATATYPE_NULL);
    RELEASE(MPI_Win_free, win, MPI_WIN_NULL);
    RELEASE(MPI_Win_free, made_win, MPI_WIN_NULL);
    RELEASE(MPI_Comm_free, inter, MPI_COMM_NULL);
    RELEASE(MPI_Comm_free, neighbours, MPI_COMM_NULL);
    RELEASE(MPI_Comm_free, graph, MPI_COMM_NULL);
    RELEASE(MPI_Comm_free, cart, MPI_COMM_NULL);
    RELEASE(MPI_Comm_free, made_comm, MPI_COMM_NULL);
    RELEASE(MPI_Comm_free, comm, MPI_COMM_NULL);
    RELEASE(MPI_Session_finalize, session, MPI_SESSION_NULL);
    RELEASE(MPI_Session_finalize, made_session, MPI_SESSION_NULL);
}

#endif
