/* The recorder of one rank: operations, nodes, notes. See recorder.h (public), recording.h and
 * rank.h. */
#include "recorder/recorder.h"
#include "recorder/memory.h"
#include "traces/base/identity.h"

#include "recorder/rank.h"
#include "recorder/recording_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void blocking_unseen(const char *name, const struct recorder_side *sides, size_t count)
{
    (void)name, (void)sides, (void)count;
}

static void heard_unseen(void)
{
}

static bool not_spared(void)
{
    return false;
}

static const struct recorder_memory nobody = {blocking_unseen, heard_unseen, not_spared};
const struct recorder_memory *_Atomic recorder_memory = &nobody;

uint64_t recorder_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct record_op *recorder_op(struct recorder_rank *me, enum op_kind kind, enum op_state state,
                              const void *site)
{
    return recorder_op_inline(me, kind, state, site);
}

void recorder_op_time(struct record_op *op, bool begins)
{
    struct record_op_timed *both = (struct record_op_timed *)op;
    *(begins ? &both->begin_ns : &both->end_ns) = recorder_now();
}

void recorder_op_complete(struct recorder_rank *me, struct record_op *op)
{
    recorder_op_complete_inline(me, op);
}

/* A type that is doubles or floats, one by one or in pairs; `parts` is 0: it is not. */
struct watched_type {
    MPI_Datatype handle;
    bool single;
    int parts;
};

static struct watched_type watched_type(uint32_t number)
{
    const struct watched_type types[] = {{MPI_DOUBLE, false, 1},
                                         {MPI_FLOAT, true, 1},
                                         {MPI_C_DOUBLE_COMPLEX, false, 2},
                                         {MPI_C_FLOAT_COMPLEX, true, 2}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (recorder_type_number(types[i].handle) == number)
            return types[i];
    return (struct watched_type){.parts = 0};
}

void recorder_watch_block(struct recorder_rank *me, const struct record_op *op, bool receives,
                          const void *buffer, int64_t count, MPI_Datatype handle)
{
    const struct recorder_type *type = recorder_type(me, handle);
    const struct watched_type numbers = watched_type(type->basic);
    if (count <= 0 || !numbers.parts)
        return;
    if (type->size != type->extent || type->lower != 0)
        me->watch->opaque(me->watch, op);
    else
        me->watch->block(me->watch, op, receives, numbers.single, (void *)(uintptr_t)buffer,
                         (size_t)(count * type->elements * numbers.parts));
}

void recorder_watched_point(struct recorder_rank *me, const struct record_op *op,
                            const struct recorder_comm *comm, const void *buffer)
{
    if (op->peer == RECORD_NONE)
        return;
    bool receives = op_kind_class(op->head.small) == CLASS_RECEIVE;
    me->watch->begins(me->watch, op, me->self->op, comm ? comm->id : 0);
    const struct watched_type numbers = watched_type(op->type);
    if (!numbers.parts)
        return;
    if (op->extent == (uint64_t)op->count * op->unit)
        recorder_watch_block(me, op, receives, buffer, op->count, numbers.handle);
    else
        me->watch->opaque(me->watch, op);
}

void recorder_op_failed(struct recorder_rank *me, struct record_op *op, int error)
{
    int class = MPI_ERR_OTHER;
    recorder_leave(me); /* the machine has a lock of its own there */
    PMPI_Error_class(error, &class);
    recorder_reenter(me);
    op->error = class;
    op->state = STATE_FAILED;
    recorder_op_stop(me, op);
}

void recorder_op_end(struct recorder_rank *me, struct record_op *op, int error)
{
    recorder_op_end_inline(me, op, error);
}

bool record_active(void)
{
    return recorder_me() != NULL;
}

static uint64_t text_hash(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash | 1;
}

/* Copies a text behind a fixed part, cut so that the record fits its 16-bit size. */
static size_t text_room(const char *text, size_t fixed, size_t *length)
{
    *length = strnlen(text, 4096);
    return (fixed + *length + 1 + 7) & ~(size_t)7;
}

uint32_t recorder_string(struct recorder_rank *me, const char *text)
{
    uint64_t key = text_hash(text);
    void *known = handle_map_find(&me->strings, key);
    if (known)
        return (uint32_t)(uintptr_t)known;
    size_t length, size = text_room(text, sizeof(struct record_string), &length);
    struct record_string *record = recorder_record(me, size);
    if (!record)
        return 0;
    record->number = ++me->string_count;
    memcpy(record + 1, text, length);
    recorder_commit(me, record, RECORD_STRING, 0, size);
    handle_map_add(&me->strings, key, (void *)(uintptr_t)me->string_count);
    return me->string_count;
}

void recorder_counts(struct recorder_rank *me, uint32_t op, bool receive, uint32_t n,
                     const int64_t *values)
{
    enum { PART = 1024 };
    for (uint32_t first = 0; first < n; first += PART) {
        uint32_t count = n - first < PART ? n - first : PART;
        size_t size = sizeof(struct record_counts) + count * sizeof *values;
        struct record_counts *record = recorder_record(me, size);
        if (!record)
            return;
        record->op = op;
        record->total = n;
        record->first = first;
        memcpy(record->values, values + first, count * sizeof *values);
        recorder_commit(me, record, RECORD_COUNTS, receive, size);
    }
}

static uint32_t node_write(struct recorder_rank *me, const char *name,
                           const struct record_node *row)
{
    uint32_t string = recorder_string(me, name);
    struct record_node *record = recorder_record(me, sizeof *record);
    if (!record)
        return 0;
    *record = *row;
    record->id = ++me->node_count;
    record->name = string;
    /* A forward node is recorded when it ran; one of a backward pass is entered later. */
    recorder_commit(me, record, RECORD_NODE, row->pass ? STATE_NEVER : STATE_COMPLETE,
                    sizeof *record);
    handle_map_add(&me->node_records, record->id, record);
    return record->id;
}

uint32_t record_node(const char *name, enum op_kind kind, uint32_t pass, uint32_t forward,
                     const void *site)
{
    struct recorder_rank *me = recorder_enter();
    if (!me)
        return 0;
    const struct record_node row = {
        .pass = pass, .forward = forward, .kind = kind, .site = (uint64_t)(uintptr_t)site};
    uint32_t id = node_write(me, name ? name : "", &row);
    recorder_leave(me);
    return id;
}

void record_edge(uint32_t from, uint32_t to, enum edge_type type)
{
    struct recorder_rank *me = from && to ? recorder_enter() : NULL;
    struct record_edge *record = me ? recorder_record(me, sizeof *record) : NULL;
    if (record) {
        record->from = from;
        record->to = to;
        recorder_commit(me, record, RECORD_EDGE, (uint8_t)type, sizeof *record);
    }
    recorder_leave(me);
}

void record_node_enter(uint32_t node)
{
    struct recorder_rank *me = recorder_enter();
    if (me && me->self->node_depth < RECORDER_DEPTH) {
        me->self->nodes[me->self->node_depth++] = node;
        struct record_node *record = handle_map_find(&me->node_records, node);
        if (record && record->head.small != STATE_COMPLETE)
            record->head.small = STATE_BLOCKED;
        if (record && !record->begin)
            record->begin = recorder_steps(me) + 1;
    }
    recorder_leave(me);
}

void record_node_leave(uint32_t node)
{
    struct recorder_rank *me = recorder_enter();
    if (me && me->self->node_depth > 0) {
        me->self->node_depth--;
        struct record_node *record = handle_map_find(&me->node_records, node);
        if (record) {
            record->head.small = STATE_COMPLETE;
            record->end = recorder_steps(me) + 1;
        }
    }
    recorder_leave(me);
}

uint32_t record_pass_begin(enum pass_mode mode)
{
    struct recorder_rank *me = recorder_enter();
    if (!me)
        return 1;
    uint32_t pass = ++me->pass_count;
    if (me->self->pass_depth < RECORDER_DEPTH)
        me->self->passes[me->self->pass_depth++] = pass;
    struct record_pass *record = recorder_record(me, sizeof *record);
    if (record) {
        record->pass = pass;
        recorder_commit(me, record, RECORD_PASS, (uint8_t)mode, sizeof *record);
        handle_map_add(&me->pass_records, pass, record);
    }
    recorder_leave(me);
    return pass;
}

void record_pass_end(uint32_t pass)
{
    struct recorder_rank *me = recorder_enter();
    if (me && me->self->pass_depth > 0) {
        me->self->pass_depth--;
        struct record_pass *record = handle_map_find(&me->pass_records, pass);
        if (record)
            record->complete = 1;
    }
    recorder_leave(me);
}

void record_site_enter(const void *site)
{
    struct recorder_rank *me = recorder_enter_own();
    if (me && me->self->site_depth < RECORDER_DEPTH)
        me->self->sites[me->self->site_depth++] = site;
    recorder_leave(me);
}

void record_site_leave(void)
{
    struct recorder_rank *me = recorder_enter_own();
    if (me && me->self->site_depth > 0)
        me->self->site_depth--;
    recorder_leave(me);
}

void record_identity(const char *name)
{
    struct recorder_rank *me = recorder_enter();
    if (me)
        me->self->identity = name ? trace_identity(name, strlen(name)) : 0;
    if (me && name)
        recorder_string(me, name);
    recorder_leave(me);
}

void record_batch_begin(void)
{
    struct recorder_rank *me = recorder_enter();
    if (me)
        me->self->batch = ++me->batch_count;
    recorder_leave(me);
}

void record_batch_end(void)
{
    struct recorder_rank *me = recorder_enter();
    if (me)
        me->self->batch = 0;
    recorder_leave(me);
}

void record_adjoint_comm(const void *comm, const void *original)
{
    struct recorder_rank *me = recorder_enter();
    if (!me)
        return;
    const struct recorder_comm *of = recorder_comm(me, (MPI_Comm)(uintptr_t)original);
    const struct recorder_comm *mine = recorder_comm(me, (MPI_Comm)(uintptr_t)comm);
    struct record_comm *record = mine && of ? recorder_record(me, sizeof *record) : NULL;
    if (record) {
        record->number = mine->number; /* a second record of one number only adds this */
        record->adjoint_of = of->number;
        recorder_commit(me, record, RECORD_COMM, RECORD_COMM_ADJOINT, sizeof *record);
    }
    recorder_leave(me);
}

void record_input(const char *name, uint32_t type, int64_t count)
{
    struct recorder_rank *me = recorder_enter();
    if (!me)
        return;
    uint32_t string = recorder_string(me, name);
    struct record_input *record = recorder_record(me, sizeof *record);
    if (record) {
        record->name = string;
        record->type = type;
        record->count = count;
        recorder_commit(me, record, RECORD_INPUT, 0, sizeof *record);
    }
    recorder_leave(me);
}

void record_objective(double value)
{
    struct recorder_rank *me = recorder_enter();
    struct record_objective *record = me ? recorder_record(me, sizeof *record) : NULL;
    if (record) {
        record->value = value;
        recorder_commit(me, record, RECORD_OBJECTIVE, 0, sizeof *record);
    }
    recorder_leave(me);
}

void record_gradient_check(const struct trace_gradient *row, const char *variable)
{
    struct recorder_rank *me = recorder_enter();
    if (!me)
        return;
    uint32_t name = recorder_string(me, variable);
    uint32_t method = recorder_string(me, row->method ? row->method : "value");
    uint32_t undecided = recorder_string(me, row->undecided ? row->undecided : "");
    struct record_gradient *record = recorder_record(me, sizeof *record);
    if (record) {
        record->name = name;
        record->method = method;
        record->undecided = undecided;
        record->elements = row->elements;
        record->index = row->index;
        record->step = row->step;
        record->analytic = row->analytic;
        record->numeric = row->numeric;
        record->error = row->error;
        record->tolerance = row->tolerance;
        record->relative = row->relative;
        recorder_commit(me, record, RECORD_GRADIENT, row->ok, sizeof *record);
    }
    recorder_leave(me);
}

static void metric_write(const char *name, double step, double value, const char *unit)
{
    struct recorder_rank *me = recorder_enter();
    if (!me)
        return;
    uint32_t string = recorder_string(me, name), of = recorder_string(me, unit);
    struct record_metric *record = recorder_record(me, sizeof *record);
    if (record) {
        record->name = string;
        record->unit = of;
        record->step = step;
        record->value = value;
        recorder_commit(me, record, RECORD_METRIC, 0, sizeof *record);
    }
    recorder_leave(me);
}

void record_metric(const char *name, double value, const char *unit)
{
    metric_write(name, NAN, value, unit ? unit : "");
}

void record_metric_at(const char *name, double step, double value)
{
    metric_write(name, step, value, "");
}

static void note_write(struct recorder_rank *me, uint32_t position, const void *site,
                       const char *code, const char *text)
{
    const struct recorder_thread *self = me->self;
    size_t length, size = text_room(text, sizeof(struct record_note), &length);
    struct record_note *record = recorder_record(me, size);
    if (!record)
        return;
    snprintf(record->code, sizeof record->code, "%s", code);
    record->op = position ? position - 1 : UINT32_MAX;
    record->node = self->node_depth ? self->nodes[self->node_depth - 1] : 0;
    record->site = self->current ? self->current->site : 0;
    if (self->site_depth)
        record->site = (uint64_t)(uintptr_t)self->sites[self->site_depth - 1];
    if (site)
        record->site = (uint64_t)(uintptr_t)site;
    memcpy(record + 1, text, length);
    recorder_commit(me, record, RECORD_NOTE, 0, size);
}

/* After the caller's last operation; 0 before the first. */
static uint32_t position_now(const struct recorder_rank *me)
{
    return me->self->current ? me->self->op + 1 : 0;
}

void record_note(const char *code, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    if (!recorder_me())
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct recorder_rank *me = recorder_enter();
    note_write(me, position_now(me), NULL, code, text);
    recorder_leave(me);
}

/* Travels as a note of code N002: "CHECK COUNT SENTENCE". */
void record_gap(const char *check, uint64_t count, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    if (!recorder_me() || !count)
        return;
    int used = snprintf(text, sizeof text, "%s %llu ", check, (unsigned long long)count);
    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    va_end(arguments);
    struct recorder_rank *me = recorder_enter();
    note_write(me, 0, NULL, "N002", text);
    recorder_leave(me);
}

void record_refusal(const char *code, const void *site, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    if (!recorder_me())
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct recorder_rank *me = recorder_enter();
    const struct record_op *current = me->self->current;
    bool own = current && (!site || current->site == recorder_site(me, site));
    bool layered = me->self->site_depth > 0; /* a layer above knows its caller better */
    note_write(me, own ? position_now(me) : 0, own || layered ? NULL : site, code, text);
    recorder_leave(me);
}

void record_access(const struct trace_access *access, const void *site)
{
    struct recorder_rank *me = recorder_enter();
    struct record_access *record = me ? recorder_record(me, sizeof *record) : NULL;
    if (record) {
        record->op = access->op;
        record->done = access->done;
        record->target = (int32_t)access->target;
        record->reduction = access->reduction;
        record->type = access->type;
        record->unordered = access->unordered;
        record->same_op = access->same_op;
        record->lock = access->lock;
        record->begin = access->begin;
        record->end = access->end;
        record->site = (uint64_t)(uintptr_t)site;
        recorder_commit(me, record, RECORD_ACCESS, access->kind, sizeof *record);
    }
    recorder_leave(me);
}

void record_sync(uint32_t rank, uint32_t peer_op, bool early)
{
    struct recorder_rank *me = recorder_enter();
    struct record_sync *record = me ? recorder_record(me, sizeof *record) : NULL;
    if (record) {
        record->op = position_now(me) + early;
        record->rank = rank;
        record->peer_op = peer_op;
        recorder_commit(me, record, RECORD_SYNC, 0, sizeof *record);
    }
    recorder_leave(me);
}

void *record_hold(void)
{
    return recorder_enter();
}

void record_let_go(void *held)
{
    recorder_leave(held);
}

uint32_t record_position(void)
{
    struct recorder_rank *me = recorder_enter();
    uint32_t position = me ? position_now(me) : 0;
    recorder_leave(me);
    return position;
}

uint32_t record_position_last(void)
{
    struct recorder_rank *me = recorder_enter();
    uint32_t position = me ? me->ops : 0;
    recorder_leave(me);
    return position;
}

const uint32_t *record_count(void)
{
    struct recorder_rank *me = recorder_enter();
    const uint32_t *count = me ? &me->ops : NULL;
    recorder_leave(me);
    return count;
}

void record_note_at(uint32_t position, const char *code, const char *text)
{
    struct recorder_rank *me = recorder_enter();
    if (me)
        note_write(me, position, NULL, code, text);
    recorder_leave(me);
}

void record_note_of(uint32_t position, const void *site, const char *code, const char *text)
{
    struct recorder_rank *me = recorder_enter();
    if (me)
        note_write(me, position, site, code, text);
    recorder_leave(me);
}

void record_stands(enum op_kind kind, const void *site)
{
    struct recorder_rank *me = recorder_enter();
    struct record_op *op = me ? recorder_op(me, kind, STATE_BLOCKED, site) : NULL;
    if (op) {
        op->thread = 0; /* not the caller's, which only stands for the rank */
        op->peer = RECORD_NONE;
    }
    recorder_leave(me);
}

void record_failure(int error_class, const void *site)
{
    struct recorder_rank *me = recorder_enter();
    const struct recorder_test *test = me ? &me->self->test : NULL;
    if (test && site && test->site == site)
        test->begin(me, test->call);
    struct record_op *current = me ? me->self->current : NULL;
    bool begun = current && current->state == STATE_POSTED && site &&
                 current->site == recorder_site(me, site);
    if (begun || (current && current->state == STATE_BLOCKED)) {
        current->state = STATE_FAILED;
        current->error = error_class;
        recorder_op_stop(me, current);
    }
    recorder_leave(me);
}
