/* Every kind of message in every form with one fault at a time, and right.
 *
 * Arguments: CALL FORM FAULT; "list" as in collectives.c. Rank 0 sends one int to rank 1, in the way that CALL says for a send,
 * else by MPI_Send; rank 1 receives it in the way that CALL says for a receive, else by MPI_Recv. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the call under test is given. */
struct given {
    void *buffer;
    int count, peer, tag;
    MPI_Datatype type;
    MPI_Comm comm;
};

enum form { BLOCKING, NONBLOCKING, PERSISTENT, LARGE, LARGE_NONBLOCKING, LARGE_PERSISTENT, FORMS };
static const char *const forms[FORMS] = {"blocking", "nonblocking",       "persistent",
                                         "large",    "large-nonblocking", "large-persistent"};

#define GIVEN g->buffer, g->count, g->type, g->peer, g->tag, g->comm
#define FORM(name, iname, END)                                                                     \
    static void call_##name(enum form form, const struct given *g, MPI_Request *request)           \
    {                                                                                              \
        switch (form) {                                                                            \
        case BLOCKING:                                                                             \
            MPI_##name(GIVEN END);                                                                 \
            break;                                                                                 \
        case NONBLOCKING:                                                                          \
            MPI_##iname(GIVEN, request);                                                           \
            break;                                                                                 \
        case PERSISTENT:                                                                           \
            MPI_##name##_init(GIVEN, request);                                                     \
            break;                                                                                 \
        case LARGE:                                                                                \
            MPI_##name##_c(GIVEN END);                                                             \
            break;                                                                                 \
        case LARGE_NONBLOCKING:                                                                    \
            MPI_##iname##_c(GIVEN, request);                                                       \
            break;                                                                                 \
        default:                                                                                   \
            MPI_##name##_init_c(GIVEN, request);                                                   \
        }                                                                                          \
    }

#define NO_STATUS
#define STATUS , MPI_STATUS_IGNORE
FORM(Send, Isend, NO_STATUS)
FORM(Ssend, Issend, NO_STATUS)
FORM(Bsend, Ibsend, NO_STATUS)
FORM(Rsend, Irsend, NO_STATUS)
FORM(Recv, Irecv, STATUS)

static const struct kind {
    const char *name;
    int receives;
    void (*call)(enum form, const struct given *, MPI_Request *);
} kinds[] = {{"Send", 0, call_Send},
             {"Ssend", 0, call_Ssend},
             {"Bsend", 0, call_Bsend},
             {"Rsend", 0, call_Rsend},
             {"Recv", 1, call_Recv}};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

/* What must be there: s(end), r(eceive), q: a request, p: a persistent one, b: none. And the code that must be found. */
static const struct fault {
    const char *name, *needs, *code;
} faults[] = {
    {"right", "", "-"},
    {"nobody", "", "-"},
    {"bad-rank", "", "M009"},
    {"bad-tag", "", "M009"},
    {"bad-count", "", "M009"},
    {"bad-type", "", "M009"},
    {"freed-type", "", "M009"},
    {"uncommitted", "", "M009"},
    {"bad-comm", "", "M009"},
    {"null-buffer", "", "M009"},
    {"in-place", "", "M009"},
    {"null-request", "q", "M009"},
    {"other-type", "", "M008"},
    {"longer", "s", "M007"},
    {"shorter", "r", "M007"},
    {"other-tag", "", "D001|M009"},
    {"other-comm", "", "D001|M009"},
    {"absent", "", "D001|D003|M009"},
    {"twice", "s", "D003|L002|D001|X006|M009"},
    {"unwaited", "q", "X006|L001"},
    {"freed", "q", "L001"},
    {"unfreed", "p", "L001"},
    {"unstarted", "p", "D001|D003 L009|L009 D003"},
    {"started-twice", "p", "L010"},
    {"written", "q", "B001"},
    {"waited-twice", "q", "L009"},
};
enum { FAULT_COUNT = sizeof faults / sizeof *faults };

static int is(const char *fault, const char *name)
{
    return strcmp(fault, name) == 0;
}

static int is_persistent(enum form form)
{
    return form == PERSISTENT || form == LARGE_PERSISTENT;
}

static int has_request(enum form form)
{
    return form != BLOCKING && form != LARGE;
}

static int fits(const struct kind *kind, enum form form, const struct fault *fault)
{
    for (const char *need = fault->needs; *need; need++)
        if ((*need == 's' && kind->receives) || (*need == 'r' && !kind->receives) ||
            (*need == 'q' && !has_request(form)) || (*need == 'p' && !is_persistent(form)))
            return 0;
    if (is(kind->name, "Bsend") &&
        (is(fault->name, "unwaited") || is(fault->name, "absent") || is(fault->name, "twice")))
        return 0; /* it is complete, or lost, when the buffer is detached */
    return !(is(fault->name, "waited-twice") &&
             is_persistent(form)); /* the second wait is on an inactive one */
}

static void list(void)
{
    for (int k = 0; k < KIND_COUNT; k++)
        for (int form = 0; form < FORMS; form++)
            for (int f = 0; f < FAULT_COUNT; f++)
                if (fits(&kinds[k], (enum form)form, &faults[f]))
                    printf("%s %s %s : %s\n", kinds[k].name, forms[form], faults[f].name,
                           faults[f].code);
}

static void spoil(struct given *g, const char *fault, MPI_Comm other, const struct kind *kind)
{
    g->peer = is(fault, "bad-rank") ? 99 : is(fault, "nobody") ? MPI_PROC_NULL : g->peer;
    g->tag = is(fault, "bad-tag") ? -7 : is(fault, "other-tag") ? 8 : g->tag;
    g->count = is(fault, "bad-count") ? -1
               : is(fault, "longer")  ? 2
               : is(fault, "shorter") ? 0
                                      : g->count;
    g->buffer = is(fault, "null-buffer") ? NULL : is(fault, "in-place") ? MPI_IN_PLACE : g->buffer;
    g->comm = is(fault, "bad-comm") ? MPI_COMM_NULL : is(fault, "other-comm") ? other : g->comm;
    g->type = is(fault, "bad-type")     ? MPI_DATATYPE_NULL
              : is(fault, "other-type") ? MPI_FLOAT
                                        : g->type;
    if (is(fault, "uncommitted") || is(fault, "freed-type"))
        MPI_Type_contiguous(1, MPI_INT, &g->type);
    if (is(fault, "freed-type")) {
        MPI_Datatype freed = g->type;
        MPI_Type_commit(&freed);
        MPI_Type_free(&freed);
    }
    (void)kind;
}

static void under_test(const struct kind *kind, enum form form, const char *fault, struct given *g)
{
    MPI_Request request = MPI_REQUEST_NULL;
    kind->call(form, g, is(fault, "null-request") ? NULL : &request);
    if (!has_request(form))
        return;
    if (is_persistent(form) && !is(fault, "unstarted"))
        MPI_Start(&request);
    if (is(fault, "started-twice"))
        MPI_Start(&request);
    if (is(fault, "written"))
        *(int *)g->buffer += 1;
    if (is(fault, "freed")) {
        MPI_Request_free(&request);
        return;
    }
    if (is(fault, "unwaited"))
        return;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (is(fault, "waited-twice"))
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (is_persistent(form) && !is(fault, "unfreed"))
        MPI_Request_free(&request);
}

static void run(const struct kind *kind, enum form form, const char *fault)
{
    int rank, value[2] = {7, 8}, tested;
    static char room[4096];
    MPI_Comm other;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Buffer_attach(room, sizeof room);
    tested = rank == kind->receives;
    struct given g = {value, 1, 1 - rank, 3, MPI_INT, MPI_COMM_WORLD};
    int absent = is(fault, "absent") || is(fault, "nobody");
    MPI_Request posted = MPI_REQUEST_NULL;
    if (rank == 1 && !kind->receives && !absent) /* before the send, which may be a ready one */
        MPI_Irecv(value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &posted);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank < 2 && tested) {
        spoil(&g, fault, other, kind);
        for (int i = 0; i < (is(fault, "twice") ? 2 : 1); i++)
            under_test(kind, form, fault, &g);
        if (is(fault, "uncommitted"))
            MPI_Type_free(&g.type);
    } else if (rank == 0 && !absent) {
        MPI_Send(value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
    }
    if (posted != MPI_REQUEST_NULL)
        MPI_Wait(&posted, MPI_STATUS_IGNORE);
    int size;
    void *detached;
    MPI_Buffer_detach(&detached, &size);
    MPI_Comm_free(&other);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc == 2 && rank == 0)
        list();
    for (int k = 0; argc == 4 && k < KIND_COUNT; k++)
        for (int form = 0; form < FORMS; form++)
            if (is(argv[1], kinds[k].name) && is(argv[2], forms[form]))
                run(&kinds[k], (enum form)form, argv[3]);
    MPI_Finalize();
}
