/* Faults as words: see fault_options.h. */
#include "cli/options/fault_options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool whole(const char **at, unsigned long long most, unsigned long long *number)
{
    char *end;
    if (!isdigit((unsigned char)**at))
        return false;
    *number = strtoull(*at, &end, 10);
    *at = end;
    return *number <= most;
}

static bool skip(const char **at, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(*at, word, length) != 0)
        return false;
    *at += length;
    return true;
}

/* Whose it is: RANK, RANK-PEER, random, random:SEED. */
static bool parse_place(const char **at, struct fault_option *option)
{
    unsigned long long number;
    option->random = skip(at, "random");
    if (option->random) {
        if (!skip(at, ":"))
            return true;
        if (!whole(at, UINT64_MAX, &number))
            return false;
        option->seed = number;
        return true;
    }
    if (!whole(at, INT32_MAX, &number))
        return false;
    option->fault.rank = (int)number;
    if (option->fault.kind != SIM_FAULT_CUT)
        return true;
    if (!skip(at, "-") || !whole(at, INT32_MAX, &number))
        return false;
    option->fault.peer = (int)number;
    return option->fault.peer != option->fault.rank;
}

/* One of the list, up to its comma or end; moves *at behind it. */
static bool parse_one(const char **at, struct fault_option *option)
{
    unsigned long long number;
    size_t length = strcspn(*at, ":,");
    int kind = sim_fault_kind(*at, length);
    if (kind < 0)
        return false;
    *option = (struct fault_option){.fault = {.kind = (enum sim_fault_kind)kind}};
    *at += length;
    if (!skip(at, ":") || !parse_place(at, option))
        return false;
    if (!skip(at, "@") || !whole(at, UINT32_MAX - 1, &number) || !number)
        return false;
    option->fault.op = (uint32_t)number;
    return !**at || **at == ',';
}

bool fault_options_parse(const char *list, struct fault_option *faults, int *count)
{
    const char *at = list;
    do {
        const char *begin = at;
        if (*count == SIM_FAULTS_MAX) {
            fprintf(stderr, "simrun: --fault: at most %d faults\n", SIM_FAULTS_MAX);
            return false;
        }
        if (!parse_one(&at, &faults[(*count)++])) {
            fprintf(stderr,
                    "simrun: --fault '%s': expected KIND:RANK@OP such as crash:1@17, with crash, "
                    "hang, slow, oom, drop, delay, duplicate or corrupt; cut:RANK-PEER@OP; or "
                    "KIND:random:SEED@MOST\n",
                    begin);
            return false;
        }
    } while (*at++ == ',');
    return true;
}

/* A stream of numbers of its own: a run's choices do not depend on where its fault strikes. */
static uint64_t mix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static struct sim_fault chosen(const struct fault_option *option, int ranks)
{
    struct sim_fault fault = option->fault;
    uint64_t state = option->seed;
    if (!option->random)
        return fault;
    fault.rank = (int)(mix(&state) % (unsigned)ranks);
    fault.op = 1 + (uint32_t)(mix(&state) % fault.op);
    if (fault.kind == SIM_FAULT_CUT && ranks > 1)
        fault.peer = (fault.rank + 1 + (int)(mix(&state) % (unsigned)(ranks - 1))) % ranks;
    return fault;
}

bool fault_options_resolve(const struct fault_option *faults, int count,
                           struct sim_world_options *world, struct sim_fault *room,
                           struct failure *failure)
{
    for (int i = 0; i < count; i++) {
        room[i] = chosen(&faults[i], world->ranks);
        int rank = room[i].rank > room[i].peer ? room[i].rank : room[i].peer;
        if (rank >= world->ranks) {
            failure_set(failure, FAILURE_USAGE,
                        "--fault %s: there is no rank %d among %d; give it -n, or another rank",
                        sim_fault_name(room[i].kind), rank, world->ranks);
            return false;
        }
    }
    world->faults = room;
    world->fault_count = (size_t)count;
    return true;
}

void fault_options_text(const struct sim_world_options *world, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < world->fault_count && used < size; i++) {
        const struct sim_fault *fault = &world->faults[i];
        char peer[16] = "";
        if (fault->kind == SIM_FAULT_CUT)
            snprintf(peer, sizeof peer, "-%d", fault->peer);
        used += (size_t)snprintf(text + used, size - used, "%s%s:%d%s@%u", i ? "," : "",
                                 sim_fault_name(fault->kind), fault->rank, peer, fault->op);
    }
}
