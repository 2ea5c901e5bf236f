/* Arguments of collectives, one wrong at a time, for every kind and form, on a communicator, between groups and along
 * a topology: the class of the error where the argument counts on that rank, none where it does not. What is right
 * is made and not started; what is refused is refused at once, in every form, and nobody waits for it. */
#include "tests/mpi/collective_calls.h"
#include "tests/world_harness.h"

enum { BYTES = 1024, PAGE = 4096 };

enum fault {
    NOTHING,
    COUNT_NEGATIVE,
    COUNT_ZERO_NO_BUFFER,
    NO_BUFFER,
    NO_BUFFER_WITH_GAPS,
    NO_BUFFER_OF_EMPTY_TYPES,
    TYPE_NULL,
    TYPE_RAW,
    IN_PLACE,
    NO_COUNTS,
    NO_PLACES,
    FIRST_COUNT_NEGATIVE,
    LAST_COUNT_NEGATIVE,
    COUNT_BEHIND_THE_LAST,
    ALL_ZERO_NO_BUFFER,
    NEAR_NULL,
    FAR_FROM_NULL,
    NO_TYPES,
    LAST_TYPE_NULL,
    LAST_TYPE_RAW,
    SIDE_FAULTS,
    ROOT_NEGATIVE = SIDE_FAULTS,
    ROOT_LAST,
    ROOT_BEHIND_THE_LAST,
    ROOT_OF_GROUPS,
    OP_NULL,
    OP_OF_OTHER_TYPES,
    INFO_NULL,
    FAULTS
};
static const char *const fault_names[FAULTS] = {"nothing",
                                                "a negative count",
                                                "no buffer for nothing",
                                                "no buffer",
                                                "no buffer of a type with gaps",
                                                "no buffer of a type of no bytes",
                                                "MPI_DATATYPE_NULL",
                                                "a type not committed",
                                                "MPI_IN_PLACE",
                                                "no counts",
                                                "no displacements",
                                                "a negative first count",
                                                "a negative last count",
                                                "a negative count behind the last",
                                                "no buffer for counts of zero",
                                                "a block near NULL",
                                                "a block far from NULL",
                                                "no types",
                                                "a last type that is none",
                                                "a last type not committed",
                                                "a negative root",
                                                "the last root",
                                                "a root behind the last",
                                                "MPI_ROOT",
                                                "MPI_OP_NULL",
                                                "an op of other types",
                                                "no info"};

struct here {
    MPI_Comm comms[PLACES];
    MPI_Datatype raw, gaps, empty;
    unsigned char memory[2][BYTES];
    int counts[2][RANKS + 1], at[2][RANKS + 1];
    MPI_Datatype types[2][RANKS + 1];
    int refused, made;
};

static struct arguments right(struct here *here, enum kind kind, enum place place, int rank,
                              int root)
{
    struct arguments a = {.op = MPI_SUM,
                          .root = root_seen(place, rank, root),
                          .info = MPI_INFO_NULL,
                          .comm = here->comms[place]};
    for (int takes = 0; takes < 2; takes++) {
        struct buffer *buffer = takes ? &a.receive : &a.send;
        for (int i = 0; i <= RANKS; i++) {
            here->counts[takes][i] = 1;
            here->at[takes][i] = kind == ALLTOALLW ? 4 * i : i;
            here->types[takes][i] = MPI_INT;
        }
        *buffer =
            (struct buffer){here->memory[takes], 1, MPI_INT, here->counts[takes], here->at[takes],
                            here->types[takes]};
    }
    return a;
}

static bool may_be_in_place(enum kind kind, enum place place, int rank, int root, bool takes)
{
    if (place != WITHIN || kind == BCAST)
        return false;
    if (kind == SCATTER || kind == SCATTERV)
        return takes && rank == root;
    if (is_rooted(kind))
        return !takes && rank == root;
    return !takes;
}

enum { NOT_ASKED = -1 };

/* Breaks one side; the class due where the side counts. */
static int break_side(struct here *here, struct buffer *buffer, enum kind kind, enum place place,
                      int rank, int root, bool takes, enum fault fault)
{
    bool arrays = has_arrays(kind, takes), vector = arrays || (kind == REDUCE_SCATTER && takes);
    bool plain = !vector && !(kind == REDUCE_SCATTER);
    int last = (kind == REDUCE_SCATTER && place == ACROSS ? rank % 2 ? RANKS - EVEN : EVEN
                                                          : peers_of(place, rank)) -
               1;
    int *lengths = here->counts[takes], *at = here->at[takes];
    if (vector && !arrays && fault != NO_COUNTS && fault != FIRST_COUNT_NEGATIVE &&
        fault != LAST_COUNT_NEGATIVE && fault != COUNT_BEHIND_THE_LAST && fault != NO_BUFFER &&
        fault != IN_PLACE)
        return NOT_ASKED;
    switch (fault) {
    case NOTHING:
        return MPI_SUCCESS;
    case COUNT_NEGATIVE:
        buffer->count = -1;
        return plain ? MPI_ERR_COUNT : NOT_ASKED;
    case COUNT_ZERO_NO_BUFFER:
        buffer->count = 0;
        buffer->at = NULL;
        return plain ? MPI_SUCCESS : NOT_ASKED;
    case NO_BUFFER:
        buffer->at = NULL;
        return MPI_ERR_BUFFER;
    case NO_BUFFER_WITH_GAPS: /* its displacements are addresses */
        buffer->at = NULL;
        buffer->type = here->gaps;
        for (int i = 0; i <= last; i++)
            here->types[takes][i] = here->gaps;
        return is_reduction(kind) ? NOT_ASKED : MPI_SUCCESS;
    case NO_BUFFER_OF_EMPTY_TYPES:
        buffer->at = NULL;
        buffer->type = here->empty;
        for (int i = 0; i <= last; i++)
            here->types[takes][i] = here->empty;
        return is_reduction(kind) ? NOT_ASKED : MPI_SUCCESS;
    case TYPE_NULL:
        buffer->type = MPI_DATATYPE_NULL;
        return kind == ALLTOALLW ? MPI_SUCCESS : MPI_ERR_TYPE;
    case TYPE_RAW:
        buffer->type = here->raw;
        return kind == ALLTOALLW ? MPI_SUCCESS : MPI_ERR_TYPE;
    case IN_PLACE:
        buffer->at = MPI_IN_PLACE;
        if (arrays && takes)
            return place == ALONG ? MPI_ERR_BUFFER : NOT_ASKED;
        return may_be_in_place(kind, place, rank, root, takes) ? MPI_SUCCESS
               : arrays && !takes && is_rooted(kind)           ? NOT_ASKED
                                                               : MPI_ERR_BUFFER;
    case NO_COUNTS:
        buffer->counts = NULL;
        return vector ? MPI_ERR_ARG : MPI_SUCCESS;
    case NO_PLACES:
        buffer->places = NULL;
        return arrays ? MPI_ERR_ARG : MPI_SUCCESS;
    case FIRST_COUNT_NEGATIVE:
        lengths[0] = -1;
        return vector ? MPI_ERR_COUNT : MPI_SUCCESS;
    case LAST_COUNT_NEGATIVE:
        lengths[last] = -1;
        return vector ? MPI_ERR_COUNT : MPI_SUCCESS;
    case COUNT_BEHIND_THE_LAST:
        lengths[last + 1] = -1;
        return MPI_SUCCESS;
    case ALL_ZERO_NO_BUFFER:
        buffer->at = NULL;
        for (int i = 0; i <= last; i++)
            lengths[i] = 0;
        return arrays ? MPI_SUCCESS : NOT_ASKED;
    case NEAR_NULL:
    case FAR_FROM_NULL:
        buffer->at = NULL;
        buffer->type = MPI_BYTE;
        for (int i = 0; i <= last; i++) {
            lengths[i] = i == last || fault == FAR_FROM_NULL;
            at[i] = fault == FAR_FROM_NULL ? PAGE + i : PAGE - 1;
            here->types[takes][i] = MPI_BYTE;
        }
        return !arrays ? NOT_ASKED : fault == FAR_FROM_NULL ? MPI_SUCCESS : MPI_ERR_BUFFER;
    case NO_TYPES:
        buffer->types = NULL;
        return kind == ALLTOALLW ? MPI_ERR_ARG : MPI_SUCCESS;
    case LAST_TYPE_NULL:
        here->types[takes][last] = MPI_DATATYPE_NULL;
        return kind == ALLTOALLW ? MPI_ERR_TYPE : MPI_SUCCESS;
    default:
        here->types[takes][last] = here->raw;
        return kind == ALLTOALLW ? MPI_ERR_TYPE : MPI_SUCCESS;
    }
}

/* Breaks what both sides share; the class. */
static int break_rest(struct arguments *a, enum kind kind, enum place place, int rank, int root,
                      bool begins, enum fault fault)
{
    int peers = peers_of(place, rank);
    bool takes_part =
        counts(kind, place, rank, root, false) || counts(kind, place, rank, root, true);
    switch (fault) {
    case ROOT_NEGATIVE:
        a->root = -17;
        return is_rooted(kind) ? MPI_ERR_ROOT : MPI_SUCCESS;
    case ROOT_LAST:
        a->root = peers - 1;
        return is_rooted(kind) ? NOT_ASKED : MPI_SUCCESS;
    case ROOT_BEHIND_THE_LAST:
        a->root = peers;
        return is_rooted(kind) ? MPI_ERR_ROOT : MPI_SUCCESS;
    case ROOT_OF_GROUPS:
        a->root = MPI_ROOT;
        return !is_rooted(kind) ? MPI_SUCCESS : place == ACROSS ? NOT_ASKED : MPI_ERR_ROOT;
    case OP_NULL:
        a->op = MPI_OP_NULL;
        return is_reduction(kind) && takes_part ? MPI_ERR_OP : MPI_SUCCESS;
    case OP_OF_OTHER_TYPES:
        a->op = MPI_MAXLOC;
        return is_reduction(kind) && takes_part ? MPI_ERR_OP : MPI_SUCCESS;
    default:
        a->info = (MPI_Info)(void *)a;
        return begins ? MPI_SUCCESS : MPI_ERR_INFO;
    }
}

static void look(struct here *here, enum kind kind, enum place place, enum form form, int rank,
                 int root, enum fault fault, bool takes)
{
    struct arguments a = right(here, kind, place, rank, root);
    bool begins = form != AGAIN && form != AGAIN_C;
    int wanted;
    if (fault < SIDE_FAULTS) {
        wanted =
            break_side(here, takes ? &a.receive : &a.send, kind, place, rank, root, takes, fault);
        if (is_reduction(kind) &&
            wanted != NOT_ASKED) { /* one count and one type, wherever they are given */
            struct buffer *other = takes ? &a.send : &a.receive;
            if (takes && fault != NO_BUFFER && fault != IN_PLACE && kind != REDUCE_SCATTER)
                return;
            other->count = a.send.count;
            other->type = a.send.type;
            if (fault == COUNT_ZERO_NO_BUFFER)
                other->at = NULL;
            bool shared = fault == COUNT_NEGATIVE || fault == TYPE_NULL || fault == TYPE_RAW ||
                          fault == COUNT_ZERO_NO_BUFFER;
            if (shared &&
                (counts(kind, place, rank, root, true) || counts(kind, place, rank, root, false)))
                takes = counts(kind, place, rank, root, true);
        }
        if (wanted != NOT_ASKED && !counts(kind, place, rank, root, takes))
            wanted = MPI_SUCCESS;
    } else {
        wanted = break_rest(&a, kind, place, rank, root, begins, fault);
    }
    if (wanted == NOT_ASKED || (begins && !wanted))
        return; /* would wait */
    int class = -1;
    *(wanted ? &here->refused : &here->made) += 1;
    MPI_Error_class(call_collective(kind, place, form, rank == root, &a), &class);
    expect(class == wanted, "%s%s, form %d, root %d: %s %s: class %d, not %d", kind_names[kind],
           place == WITHIN   ? ""
           : place == ACROSS ? " across"
                             : " along",
           (int)form, root, takes ? "taken" : "given", fault_names[fault], class, wanted);
}

static void one_wrong_argument(int rank, int size)
{
    static struct here all[RANKS];
    struct here *here = &all[rank];
    const int pair[2] = {0, 2};
    here->refused = here->made = 0;
    (void)size;
    comms_make(here->comms, rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Type_contiguous(2, MPI_INT, &here->raw);
    MPI_Type_create_indexed_block(2, 1, pair, MPI_INT, &here->gaps);
    MPI_Type_commit(&here->gaps);
    MPI_Type_contiguous(0, MPI_INT, &here->empty);
    MPI_Type_commit(&here->empty);
    for (int kind = 0; kind < KINDS; kind++)
        for (int place = 0; place < PLACES; place++)
            for (int fault = 0; fault < FAULTS && exists((enum kind)kind, (enum place)place);
                 fault++)
                for (int takes = 0; takes < (fault < SIDE_FAULTS ? 2 : 1); takes++)
                    for (int i = 0; i < 4; i++)
                        look(here, (enum kind)kind, (enum place)place,
                             (enum form)((fault + i * 5) % FORMS), rank,
                             is_rooted((enum kind)kind) ? (i + fault) % RANKS : -1,
                             (enum fault)fault, takes);
    expect(here->refused > 1000 && here->made > 400, "only %d refused, %d made", here->refused,
           here->made);
    MPI_Type_free(&here->raw);
    MPI_Type_free(&here->gaps);
    MPI_Type_free(&here->empty);
    comms_drop(here->comms);
}

int main(void)
{
    world_test_sizes(
        "one wrong argument is refused where it counts, as what it is", one_wrong_argument,
        WORLD_FIBERS | WORLD_DEFAULT | WORLD_BUFFERS | WORLD_MINIMAL, WORLD_SIZES(RANKS));
    return tap_done();
}
