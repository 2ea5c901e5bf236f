/* Reads PyTorch Flight Recorder dumps, one per rank, JSON or pickled. See docs/formats.md.
 *
 * A dump is what one rank enqueued, in order, and how far each operation came. It becomes a run
 * that was cut short:
 *  1. What completed, completed. The first operation behind the last completed one that did not is
 *     where the rank stands (blocked); what is enqueued behind it was never reached. An operation
 *     that did not complete although a later one did (on another stream) is pending.
 *  2. A dump is a ring buffer. Where a rank's buffer has lost its beginning, the collectives of a
 *     group count from the first sequence number that every such rank still has; older ones, and
 *     messages whose partner is lost, are left out.
 *  3. Sends and receives that a "coalesced" entry closes are one batch.
 *  4. Process groups are communicators, known by name and members; the one of all ranks is the
 *     world. */
#include "traces/formats/flight.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ranks and groups ---- */

/* The last digits of the name before its extension: "nccl_trace_rank_3", "dump-12.json". */
static bool rank_of_name(const char *path, int64_t *rank)
{
    const char *base = format_base_name(path), *dot = strrchr(base, '.');
    const char *end =
        dot && dot > base && !isdigit((unsigned char)dot[1]) ? dot : base + strlen(base);
    while (end > base && !isdigit((unsigned char)end[-1]))
        end--;
    const char *begin = end;
    while (begin > base && isdigit((unsigned char)begin[-1]))
        begin--;
    if (begin == end || end - begin > 7)
        return false;
    *rank = strtol(begin, NULL, 10);
    return true;
}

static bool rank_of_dump(struct flight *flight, struct flight_dump *dump)
{
    const struct value *said = value_get(&dump->pool, dump->root, "rank");
    int64_t rank = value_integer(said, -1);
    if (rank < 0 && !rank_of_name(dump->pool.input->name, &rank)) {
        if (flight->dump_count > 1)
            return format_refuse(dump->pool.input, 0,
                                 "neither a \"rank\" nor a file name that ends in one");
        rank = 0;
    }
    if (rank >= FORMAT_RANKS_MAX)
        return format_refuse(dump->pool.input, 0, "rank %lld is beyond %d", (long long)rank,
                             FORMAT_RANKS_MAX - 1);
    dump->rank = (uint32_t)rank;
    if (dump->rank >= flight->ranks)
        flight->ranks = dump->rank + 1;
    return true;
}

static bool member_add(struct flight *flight, struct flight_dump *dump, struct flight_group *group,
                       int64_t rank, size_t *room, size_t offset)
{
    if (rank < 0 || rank >= FORMAT_RANKS_MAX)
        return format_refuse(dump->pool.input, offset, "a member that is no rank from 0 to %d",
                             FORMAT_RANKS_MAX - 1);
    if (!format_grow(dump->pool.input, &group->members, group->size, room, sizeof *group->members))
        return false;
    group->members[group->size++] = (int32_t)rank;
    group->has_rank = group->has_rank || rank == dump->rank;
    if ((uint32_t)rank >= flight->ranks)
        flight->ranks = (uint32_t)rank + 1;
    return true;
}

/* "[0, 1, 2]" as a text. */
static bool members_text(struct flight *flight, struct flight_dump *dump,
                         struct flight_group *group, const struct value *ranks)
{
    size_t room = 0;
    int64_t rank = -1;
    for (size_t i = 0; i <= ranks->as.text.length; i++) {
        int c = i < ranks->as.text.length ? (unsigned char)ranks->as.text.start[i] : ']';
        if (isdigit(c)) {
            rank = (rank < 0 ? 0 : rank) * 10 + (c - '0');
            if (rank < FORMAT_RANKS_MAX)
                continue;
        }
        if (rank >= 0 && !member_add(flight, dump, group, rank, &room, ranks->offset))
            return false;
        rank = -1;
        if (!strchr("[], ", c))
            return format_refuse(dump->pool.input, ranks->offset,
                                 "members of a process group expected, as in \"[0, 1]\"");
    }
    return true;
}

static bool members_list(struct flight *flight, struct flight_dump *dump,
                         struct flight_group *group, const struct value *ranks)
{
    size_t room = 0;
    for (uint32_t i = 0; i < ranks->count; i++) {
        const struct value *item = value_at(&dump->pool, ranks, i);
        if (!item ||
            !member_add(flight, dump, group, value_integer(item, -1), &room, ranks->offset))
            return false;
    }
    return true;
}

static uint64_t text_hash(uint64_t hash, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return hash;
}

static const uint64_t HASH_START = 0xcbf29ce484222325u;

static uint64_t name_hash(const char *name)
{
    return text_hash(HASH_START, name, strlen(name));
}

static bool group_read(struct flight *flight, struct flight_dump *dump, const struct value *name,
                       const struct value *config)
{
    struct flight_group group = {0};
    char text[48], key[128];
    const struct value *ranks = value_get(&dump->pool, config, "ranks");
    value_copy(name, key, sizeof key);
    bool done = !dump->pool.input->refused;
    if (done && (!ranks || (ranks->type != VALUE_TEXT && ranks->type != VALUE_LIST)))
        done = format_refuse(dump->pool.input, config->offset,
                             "process group \"%.40s\" without \"ranks\"", key);
    done = done && (ranks->type == VALUE_TEXT ? members_text(flight, dump, &group, ranks)
                                              : members_list(flight, dump, &group, ranks));
    const struct value *description = done ? value_get(&dump->pool, config, "desc") : NULL;
    value_copy(description, text, sizeof text);
    bool named = text[0] && strcmp(text, "undefined") != 0;
    snprintf(group.name, sizeof group.name, "%.63s", named ? text : key);
    group.hash =
        text_hash(name_hash(key), (const char *)group.members, group.size * sizeof *group.members);
    done = done && format_grow(dump->pool.input, &flight->groups, flight->group_count,
                               &flight->group_room, sizeof *flight->groups);
    if (!done) {
        free(group.members);
        return false;
    }
    flight->groups[flight->group_count] = group;
    return format_index_add(dump->pool.input, &dump->groups, name_hash(key),
                            (uint32_t)flight->group_count++);
}

static bool groups_read(struct flight *flight, struct flight_dump *dump)
{
    const struct value *config = value_get(&dump->pool, dump->root, "pg_config");
    if (!config)
        return !dump->pool.input->refused;
    if (config->type != VALUE_DICT)
        return format_refuse(dump->pool.input, config->offset, "\"pg_config\" is no dict");
    for (uint32_t i = 0; i + 1 < config->count; i += 2)
        if (!group_read(flight, dump, config->as.items[i], config->as.items[i + 1]))
            return false;
    format_index_sort(&dump->groups);
    return true;
}

/* One communicator for groups of one name and the same members, in order of appearance; the world
 * is number 1. */
static bool comms_make(struct flight *flight)
{
    struct format_index same = {0};
    struct trace *trace = flight->trace;
    bool done = true, world = false;
    uint32_t next = 2;
    for (uint32_t i = 0; i < flight->group_count && done; i++)
        done = format_index_add(flight->input, &same, flight->groups[i].hash, i);
    if (done)
        format_index_sort(&same);
    for (uint32_t i = 0; i < flight->group_count && done; i++) {
        struct flight_group *group = &flight->groups[i];
        const struct format_index_row *first = format_index_find(&same, group->hash);
        if (first->value != i) {
            group->comm = flight->groups[first->value].comm;
            continue;
        }
        bool all = group->size == trace->ranks && !world;
        struct trace_comm comm = {.id = all ? 1 : next++,
                                  .size = group->size,
                                  .members = group->members,
                                  .parent = TRACE_NO,
                                  .adjoint_of = TRACE_NO};
        world = world || all;
        snprintf(comm.name, sizeof comm.name, "%s", group->name);
        group->comm = trace_add_comm(trace, &comm);
        done = group->comm != TRACE_NO || format_no_memory(flight->input);
        flight->world = all ? group->comm : flight->world;
    }
    format_index_release(&same);
    if (done && !world)
        flight->world = format_world_add(flight->input, trace, "all ranks");
    return done && flight->world != TRACE_NO;
}

/* ---- all dumps ---- */

/* format.c has taken it for a dump; JSON has its brace first, behind a byte order mark and blanks. */
static bool is_json(const struct format_input *input)
{
    const unsigned char *data = input->data + format_text_begin(input);
    while (isspace(*data))
        data++;
    return *data == '{';
}

static bool dump_open(struct flight *flight, struct flight_dump *dump)
{
    struct format_input *input = dump->pool.input;
    dump->root = is_json(input) ? value_read_json(&dump->pool) : value_read_pickle(&dump->pool);
    if (!dump->root)
        return false;
    dump->entries = value_get(&dump->pool, dump->root, "entries");
    if (!dump->entries || dump->entries->type != VALUE_LIST)
        return format_refuse(
            input, dump->root->offset,
            "neither our own trace (\"simrun\" first) nor a Flight Recorder dump (\"entries\")");
    return rank_of_dump(flight, dump) && groups_read(flight, dump);
}

static bool ranks_differ(struct flight *flight)
{
    struct format_index ranks = {0};
    bool done = true;
    for (uint32_t i = 0; i < flight->dump_count && done; i++)
        done = format_index_add(flight->input, &ranks, flight->dumps[i].rank, i);
    size_t twice = done ? format_index_sort(&ranks) : 0;
    if (done && twice < ranks.count)
        done = format_refuse(flight->dumps[ranks.rows[twice].value].pool.input, 0,
                             "a second dump of rank %u", (unsigned)ranks.rows[twice].key);
    format_index_release(&ranks);
    return done;
}

static bool begin(struct flight *flight)
{
    flight->trace = trace_new(flight->ranks);
    if (!flight->trace)
        return format_no_memory(flight->input);
    snprintf(flight->trace->program, sizeof flight->trace->program, "%s", flight->input->name);
    for (uint32_t rank = 0; rank < flight->ranks; rank++)
        flight->trace->rank_info[rank].state = RANK_RUNNING; /* a rank without a dump stays that */
    return comms_make(flight);
}

static void release(struct flight *flight)
{
    for (size_t i = 0; i < flight->dump_count; i++) {
        value_pool_release(&flight->dumps[i].pool);
        format_index_release(&flight->dumps[i].groups);
        free(flight->dumps[i].rows);
    }
    for (size_t i = 0; i < flight->group_count; i++)
        free(flight->groups[i].members);
    free(flight->dumps);
    free(flight->groups);
}

struct trace *format_flight_read(struct format_input *inputs, size_t count)
{
    struct flight flight = {.input = inputs, .dump_count = count};
    flight.dumps = calloc(count, sizeof *flight.dumps);
    bool done = flight.dumps || format_no_memory(inputs);
    if (!flight.dumps)
        flight.dump_count = 0;
    for (size_t i = 0; i < flight.dump_count; i++)
        value_pool_init(&flight.dumps[i].pool, &inputs[i]);
    for (size_t i = 0; i < flight.dump_count && done; i++)
        done = dump_open(&flight, &flight.dumps[i]);
    done = done && ranks_differ(&flight) && begin(&flight) && flight_operations(&flight);
    struct trace *trace = flight.trace;
    release(&flight);
    for (size_t i = 0; i < count && done; i++)
        done = !inputs[i].refused;
    if (done)
        return format_finish(inputs, trace);
    trace_free(trace);
    return NULL;
}
