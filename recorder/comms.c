/* Communicators as the recorder knows them: an id all members agree on without talking, and who the
 * members are.
 *
 * The id is a hash of the members, of the communicator it came from, of how it was made, and of how
 * many were made in the same way before. Creation is collective, so every member counts alike. A
 * communicator made behind the recorder's back is made known at its first use. Members are kept as
 * a range (start, stride) whenever they are one: a world of 65,536 ranks costs nothing. */
#include "recorder/rank.h"
#include "traces/base/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_WORLD = 1, LABEL_SELF, LABEL_FOUND, LABEL_SERIES, LABEL_GATHERING, LABEL_LANE };

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

/* World ranks of a group. */
static bool group_members(MPI_Group group, int size, int32_t *members)
{
    if (size == 0)
        return true;
    int *local = malloc((size_t)size * sizeof *local),
        *global = malloc((size_t)size * sizeof *global);
    MPI_Group world;
    bool done = local && global && PMPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS;
    if (done) {
        for (int i = 0; i < size; i++)
            local[i] = i;
        done = PMPI_Group_translate_ranks(group, size, local, world, global) == MPI_SUCCESS;
        for (int i = 0; done && i < size; i++)
            members[i] = global[i];
        PMPI_Group_free(&world);
    }
    free(local);
    free(global);
    return done;
}

static void as_range(struct recorder_comm *comm)
{
    comm->start = comm->size ? comm->members[0] : 0;
    comm->stride = comm->size > 1 ? comm->members[1] - comm->members[0] : 1;
    for (uint32_t i = 1; i < comm->size; i++)
        if (comm->members[i] != comm->start + (int32_t)i * comm->stride)
            return;
    free(comm->members);
    comm->members = NULL;
}

static bool find_members(struct recorder_comm *comm, MPI_Comm handle,
                         const struct recorder_comm *parent, bool duplicate)
{
    int size = 0, inter = 0, remote = 0, rank = 0;
    if (PMPI_Comm_size(handle, &size) != MPI_SUCCESS ||
        PMPI_Comm_rank(handle, &rank) != MPI_SUCCESS)
        return false;
    PMPI_Comm_test_inter(handle, &inter);
    if (inter)
        PMPI_Comm_remote_size(handle, &remote);
    comm->rank = rank;
    comm->local_size = (uint32_t)size;
    comm->size = (uint32_t)(size + remote);
    if (handle == MPI_COMM_WORLD || (duplicate && parent && !parent->members && !inter)) {
        comm->start = parent ? parent->start : 0; /* all of 65,536 ranks need not list each other */
        comm->stride = parent ? parent->stride : 1;
        return true;
    }
    comm->members = malloc(((size_t)comm->size + 1) * sizeof *comm->members);
    MPI_Group group;
    bool done = comm->members && PMPI_Comm_group(handle, &group) == MPI_SUCCESS;
    if (done) {
        done = group_members(group, size, comm->members);
        PMPI_Group_free(&group);
    }
    if (done && inter && PMPI_Comm_remote_group(handle, &group) == MPI_SUCCESS) {
        done = group_members(group, remote, comm->members + size);
        PMPI_Group_free(&group);
    }
    if (done && !inter)
        as_range(comm);
    return done;
}

/* What is mixed first only adds to the second, and a small rank cancels a small start: begin with a
 * large number, another for a range than for a list. Both sides of an intercommunicator get the
 * same: local and remote members are mixed alike. */
static uint64_t members_hash(const struct recorder_comm *comm)
{
    static const uint64_t start = UINT64_C(0x8f14e45fceea167a);
    if (!comm->members)
        return mix(mix(mix(~start, comm->size), (uint32_t)comm->start), (uint32_t)comm->stride);
    uint64_t local = start, remote = start;
    for (uint32_t i = 0; i < comm->size; i++) {
        uint64_t *hash = i < comm->local_size ? &local : &remote;
        *hash = mix(*hash, (uint64_t)(uint32_t)recorder_member(comm, i));
    }
    return comm->size == comm->local_size ? local : local + remote;
}

/* How many were made in this way before. */
static uintptr_t count_one_more(struct recorder_rank *me, uint64_t way)
{
    uintptr_t before = (uintptr_t)handle_map_find(&me->comms_made, way);
    if (before)
        handle_map_remove(&me->comms_made, way);
    handle_map_add(&me->comms_made, way, (void *)(before + 1));
    return before;
}

static bool is_inter(const struct recorder_comm *comm)
{
    return comm->size != comm->local_size;
}

static uint64_t make_id(struct recorder_rank *me, const struct recorder_comm *comm,
                        const struct recorder_comm *parent, uint32_t label)
{
    /* The two sides of a new intercommunicator come from different ones. */
    bool same = parent && (!is_inter(comm) || is_inter(parent));
    uint64_t base = mix(members_hash(comm), same ? parent->id : 0);
    base = mix(base, label) | 1; /* never 0 */
    uintptr_t before = count_one_more(me, base);
    return before ? mix(base, before) | 1 : base;
}

static void write_members(struct recorder_rank *me, const struct recorder_comm *comm)
{
    enum { PART = 4096 };
    for (uint32_t first = 0; first < comm->size; first += PART) {
        uint32_t n = comm->size - first < PART ? comm->size - first : PART;
        size_t size = sizeof(struct record_members) + ((n + 1) & ~1u) * sizeof(int32_t);
        struct record_members *record = recorder_record(me, size);
        if (!record)
            return;
        record->number = comm->number;
        record->first = first;
        record->n = n;
        memcpy(record->members, comm->members + first, n * sizeof(int32_t));
        recorder_commit(me, record, RECORD_MEMBERS, 0, size);
    }
}

void recorder_comm_named(struct recorder_rank *me, const struct recorder_comm *comm,
                         const char *name)
{
    size_t length = comm ? strnlen(name, 63) : 0;
    size_t size = (sizeof(struct record_comm) + length + 1 + 7) & ~(size_t)7;
    struct record_comm *record = comm ? recorder_record(me, size) : NULL;
    if (!record)
        return;
    record->number = comm->number;
    record->parent = comm->parent;
    record->size = comm->size;
    record->start = comm->start;
    record->stride = comm->stride;
    record->id = comm->id;
    memcpy(record + 1, name, length);
    recorder_commit(me, record, RECORD_COMM,
                    (uint8_t)((comm->members ? 0 : RECORD_COMM_RANGE) | comm->special), size);
}

static void write_comm(struct recorder_rank *me, const struct recorder_comm *comm, const char *name)
{
    recorder_comm_named(me, comm, name);
    if (comm->members && comm->rank == 0)
        write_members(me, comm);
}

static void comm_free(struct recorder_comm *comm)
{
    if (comm)
        free(comm->members);
    free(comm);
}

/* What MPI says of it; it may raise an error, and so is asked outside the recorder. */
static struct recorder_comm *comm_ask(struct recorder_rank *me, MPI_Comm handle,
                                      const struct recorder_comm *parent, bool duplicate,
                                      char *name)
{
    int length = 0;
    recorder_leave(me);
    struct recorder_comm *comm = calloc(1, sizeof *comm);
    if (comm && find_members(comm, handle, parent, duplicate)) {
        PMPI_Comm_get_name(handle, name, &length);
    } else {
        comm_free(comm);
        comm = NULL;
    }
    recorder_reenter(me);
    return comm;
}

struct recorder_promise *recorder_promise(struct recorder_rank *me, MPI_Comm *made,
                                          const struct recorder_comm *parent)
{
    struct recorder_promise *promise = malloc(sizeof *promise);
    if (promise)
        *promise = (struct recorder_promise){
            .made = made,
            .id = make_id(me, parent, parent, OP_COMM_DUP | 0x200), /* it has the same members */
            .parent = parent->number};
    return promise;
}

void recorder_promise_keep(struct recorder_rank *me, struct recorder_promise *promise)
{
    uint64_t key = HANDLE_KEY(*promise->made);
    struct recorder_promise *stale = handle_map_find(&me->promised, key);
    if (stale)
        handle_map_remove(&me->promised, key);
    free(stale);
    if (*promise->made == MPI_COMM_NULL || !handle_map_add(&me->promised, key, promise))
        free(promise);
}

struct recorder_comm *recorder_comm_new(struct recorder_rank *me, MPI_Comm handle,
                                        struct recorder_comm *parent, uint32_t label)
{
    char name[MPI_MAX_OBJECT_NAME + 1] = "";
    if (handle == MPI_COMM_NULL)
        return NULL;
    struct recorder_comm *comm =
        comm_ask(me, handle, parent, label == OP_COMM_DUP || label == OP_COMM_DUP_WITH_INFO, name);
    if (!comm)
        return NULL;
    struct recorder_comm *known = handle_map_find(&me->comms, HANDLE_KEY(handle));
    if (known && label <= LABEL_FOUND) { /* another thread met it at the same time */
        comm_free(comm);
        return known;
    }
    comm->number = ++me->comm_count;
    struct recorder_promise *promise =
        label == LABEL_FOUND ? handle_map_find(&me->promised, HANDLE_KEY(handle)) : NULL;
    comm->parent = promise ? promise->parent : parent ? parent->number : 0;
    comm->id = promise ? promise->id : make_id(me, comm, parent, label);
    if (promise)
        handle_map_remove(&me->promised, HANDLE_KEY(handle));
    free(promise);
    comm->special = label == LABEL_WORLD  ? RECORD_COMM_WORLD
                    : label == LABEL_SELF ? RECORD_COMM_SELF
                                          : 0;
    comm->next = me->comm_list;
    me->comm_list = comm;
    handle_map_remove(&me->comms, HANDLE_KEY(handle));
    handle_map_add(&me->comms, HANDLE_KEY(handle), comm);
    if (me->comm_key == HANDLE_KEY(handle))
        me->comm_key = 0;
    write_comm(me, comm, name);
    return comm;
}

struct recorder_comm *recorder_comm_find(struct recorder_rank *me, MPI_Comm handle)
{
    uint64_t key = HANDLE_KEY(handle);
    struct recorder_comm *comm = handle_map_find(&me->comms, key);
    if (!comm && handle != MPI_COMM_NULL && key) {
        uint32_t label = handle == MPI_COMM_WORLD  ? (uint32_t)LABEL_WORLD
                         : handle == MPI_COMM_SELF ? (uint32_t)LABEL_SELF
                                                   : (uint32_t)LABEL_FOUND;
        comm = recorder_comm_new(me, handle, NULL, label);
    }
    if (comm) {
        me->comm_key = key;
        me->comm_last = comm;
    }
    return comm;
}

/* One of the same members; its number and id are to be given. */
static struct recorder_comm *copy_of(struct recorder_rank *me, const struct recorder_comm *of)
{
    struct recorder_comm *comm = malloc(sizeof *comm);
    if (!comm)
        return NULL;
    *comm = *of;
    size_t bytes = (size_t)of->size * sizeof *of->members;
    if (of->members && (comm->members = malloc(bytes + 1)) != NULL)
        memcpy(comm->members, of->members, bytes);
    if (of->members && !comm->members) {
        free(comm);
        return NULL;
    }
    comm->number = ++me->comm_count;
    comm->parent = of->number;
    comm->special = 0;
    comm->collectives = comm->persistents = 0;
    comm->next = me->comm_list;
    me->comm_list = comm;
    return comm;
}

static void write_copy(struct recorder_rank *me, const struct recorder_comm *comm,
                       const struct recorder_comm *of, const char *what, unsigned number)
{
    char name[64];
    const char *where = of->special == RECORD_COMM_WORLD  ? " of world"
                        : of->special == RECORD_COMM_SELF ? " of self"
                                                          : "";
    snprintf(name, sizeof name, "%s %u%s", what, number, where);
    write_comm(me, comm, name);
}

struct recorder_comm *recorder_comm_series(struct recorder_rank *me, struct recorder_comm *of)
{
    struct recorder_comm *comm = of ? copy_of(me, of) : NULL;
    if (!comm)
        return NULL;
    comm->id = mix(mix(of->id, LABEL_SERIES), ++of->persistents) | 1;
    write_copy(me, comm, of, "persistent collective", (unsigned)of->persistents);
    return comm;
}

struct recorder_comm *recorder_comm_lane(struct recorder_rank *me, const struct recorder_comm *of,
                                         uint64_t way)
{
    if (!of)
        return NULL;
    uintptr_t lane = count_one_more(me, mix(mix(of->id, LABEL_LANE), way));
    uint64_t id = mix(mix(of->id, LABEL_LANE), lane) | 1;
    for (struct recorder_comm *other = me->comm_list; other; other = other->next)
        if (other->id == id)
            return other;
    struct recorder_comm *comm = copy_of(me, of);
    if (comm) {
        comm->id = id;
        write_copy(me, comm, of, "partitioned messages", (unsigned)lane + 1);
    }
    return comm;
}

struct recorder_comm *recorder_comm_gathering(struct recorder_rank *me, MPI_Comm handle,
                                              MPI_Group group, int tag)
{
    bool of_none = handle == MPI_COMM_NULL;
    const struct recorder_comm *parent = of_none ? NULL : recorder_comm(me, handle);
    int size = 0, rank = MPI_UNDEFINED;
    struct recorder_comm *comm =
        (parent || of_none) && group != MPI_GROUP_NULL ? calloc(1, sizeof *comm) : NULL;
    if (!comm)
        return NULL;
    recorder_leave(me);
    bool known = PMPI_Group_size(group, &size) == MPI_SUCCESS &&
                 PMPI_Group_rank(group, &rank) == MPI_SUCCESS && rank != MPI_UNDEFINED;
    comm->members = known ? malloc(((size_t)size + 1) * sizeof *comm->members) : NULL;
    known = comm->members && group_members(group, size, comm->members);
    recorder_reenter(me);
    if (!known) {
        comm_free(comm);
        return NULL;
    }
    comm->size = comm->local_size = (uint32_t)size;
    comm->rank = rank;
    as_range(comm);
    uint64_t of = parent ? parent->id : 0;
    comm->id = mix(mix(mix(members_hash(comm), of), LABEL_GATHERING), (uint32_t)tag) | 1;
    for (struct recorder_comm *other = me->comm_list; other; other = other->next)
        if (other->id == comm->id) {
            comm_free(comm);
            return other;
        }
    comm->number = ++me->comm_count;
    comm->parent = parent ? parent->number : 0;
    comm->next = me->comm_list;
    me->comm_list = comm;
    write_comm(me, comm, "");
    return comm;
}

struct recorder_comm *recorder_comm_gathering_by(struct recorder_rank *me, MPI_Group group,
                                                 const char *word)
{
    return recorder_comm_gathering(me, MPI_COMM_NULL, group,
                                   (int)trace_identity(word, strlen(word)));
}

void recorder_comm_forget(struct recorder_rank *me, MPI_Comm handle,
                          const struct recorder_comm *comm)
{
    handle_map_remove_value(&me->comms, HANDLE_KEY(handle), comm);
    me->comm_key = 0;
}

uint32_t recorder_collective_number(struct recorder_rank *me, uint32_t number)
{
    for (struct recorder_comm *comm = me->comm_list; comm; comm = comm->next)
        if (comm->number == number)
            return comm->collectives++;
    return 0;
}

static uint32_t ask_neighbours(MPI_Comm comm, bool receive)
{
    int topology = MPI_UNDEFINED, in = 0, out = 0, weighted = 0, rank = 0;
    PMPI_Topo_test(comm, &topology);
    if (topology == MPI_CART) {
        PMPI_Cartdim_get(comm, &in);
        return 2 * (uint32_t)in;
    }
    if (topology == MPI_GRAPH) {
        PMPI_Comm_rank(comm, &rank);
        PMPI_Graph_neighbors_count(comm, rank, &in);
        return (uint32_t)in;
    }
    if (topology == MPI_DIST_GRAPH)
        PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    return (uint32_t)(receive ? in : out);
}

uint32_t recorder_neighbours(struct recorder_rank *me, MPI_Comm comm, bool receive)
{
    recorder_leave(me);
    uint32_t neighbours = ask_neighbours(comm, receive);
    recorder_reenter(me);
    return neighbours;
}
