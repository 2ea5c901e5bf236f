/* Which accesses of a program of window_program.h race, by brute force: every order of the ranks'
 * steps that MPI allows is walked, and two accesses that touch the same memory and are under way at
 * once race. It shares nothing with the checker, and no clock is in it.
 *
 * A call is one step, or two where others can see that it was entered and has not returned. A state
 * is how many steps each rank has made. */
#ifndef TESTS_WINDOWS_WINDOW_ORACLE_H
#define TESTS_WINDOWS_WINDOW_ORACLE_H

#include "tests/windows/window_program.h"

#include <stdlib.h>

enum { STEPS_MAX = 2 * CALLS_MAX, ACCESSES_MAX = 32, WAYS_MAX = 3, STATES_MAX = 1 << 22 };

/* How far each rank must have come. */
struct cut {
    uint8_t at[RANKS_MAX];
};

struct way_access {
    const struct call *call;
    uint8_t rank, number, owner; /* owner: whose memory it is */
    uint8_t begin;               /* steps of its rank after which it is under way */
    struct cut ways[WAYS_MAX];   /* any of them ends it */
    uint32_t way_count;
    uint32_t conflicts, races; /* bit per access */
    uint32_t meets, met; /* atomic ones, one of which says in which order they were carried out */
};

struct hold {
    uint8_t rank, target, from, to; /* steps */
    bool exclusive;
};

struct oracle {
    const struct program *program;
    uint8_t entered[RANKS_MAX][CALLS_MAX], left[RANKS_MAX][CALLS_MAX]; /* steps made by then */
    uint8_t steps[RANKS_MAX];
    struct cut needs[RANKS_MAX][STEPS_MAX];
    const struct hold *locks[RANKS_MAX][STEPS_MAX]; /* that the step wants */
    struct way_access accesses[ACCESSES_MAX];
    uint32_t access_count;
    struct hold holds[RANKS_MAX * CALLS_MAX * RANKS_MAX];
    uint32_t hold_count;
    size_t states;
    bool hangs, too_large;
};

/* ---- calls are steps ---- */

static bool takes_two_steps(uint8_t verb)
{
    return (verb >= LOAD && verb <= RECEIVE_INTO) || verb == SSEND || verb == RECEIVE ||
           (verb >= FENCE && verb <= EXSCAN && verb != IBARRIER);
}

static void number_steps(struct oracle *oracle)
{
    const struct program *program = oracle->program;
    for (uint32_t rank = 0; rank < program->ranks; rank++)
        for (uint32_t i = 0; i < program->length[rank]; i++) {
            oracle->entered[rank][i] = ++oracle->steps[rank];
            oracle->steps[rank] += takes_two_steps(program->calls[rank][i].verb);
            oracle->left[rank][i] = oracle->steps[rank];
        }
}

static void need(struct cut *cut, uint32_t rank, uint8_t steps)
{
    cut->at[rank] = steps > cut->at[rank] ? steps : cut->at[rank];
}

/* The call of a rank with this number among verbs first .. last. */
static int find_call(const struct program *program, uint32_t rank, uint8_t number, uint8_t first,
                     uint8_t last)
{
    for (uint32_t i = 0; i < program->length[rank]; i++) {
        const struct call *call = &program->calls[rank][i];
        if (call->number == number && call->verb >= first && call->verb <= last)
            return (int)i;
    }
    return -1;
}

/* "The message was sent": its send has been entered. Or the receive has. */
static void need_partner(const struct oracle *oracle, struct cut *cut, const struct call *call)
{
    bool sends = call->verb == SSEND || call->verb == ISSEND;
    for (uint32_t i = 0; i < oracle->program->length[call->peer]; i++) {
        const struct call *other = &oracle->program->calls[call->peer][i];
        bool sent = other->verb == SEND || other->verb == SEND_FROM || other->verb == SSEND ||
                    other->verb == ISSEND;
        bool receives =
            other->verb == RECEIVE || other->verb == RECEIVE_INTO || other->verb == IRECEIVE_INTO;
        if (other->number == call->number && (sends ? receives : sent))
            need(cut, call->peer, oracle->entered[call->peer][i]);
    }
}

/* A member has what it needs of a collective: of everybody; of the root; of the lower ranks. */
static void need_members(const struct oracle *oracle, struct cut *cut, const struct call *call,
                         uint32_t rank)
{
    bool one_to_all = call->verb >= BROADCAST && call->verb <= SCATTERV;
    bool all_to_one = call->verb >= REDUCE && call->verb <= GATHERV;
    bool prefix = call->verb == SCAN || call->verb == EXSCAN;
    for (uint32_t other = 0; other < oracle->program->ranks; other++) {
        if ((one_to_all && other != call->peer) || (all_to_one && rank != call->peer) ||
            (prefix && other >= rank))
            continue;
        int i = find_call(oracle->program, other, call->number, FENCE, EXSCAN);
        need(cut, other, oracle->entered[other][i]);
    }
}

/* Completes what the rank has started before and not waited for. */
static void need_started(const struct oracle *oracle, struct cut *cut, uint32_t rank, uint32_t wait)
{
    const struct call *calls = oracle->program->calls[rank];
    for (uint32_t i = wait; i-- > 0 && calls[i].verb != WAIT_ALL;) {
        if (calls[i].verb == ISSEND || calls[i].verb == IRECEIVE_INTO)
            need_partner(oracle, cut, &calls[i]);
        if (calls[i].verb == IBARRIER)
            need_members(oracle, cut, &calls[i], rank);
    }
}

static void need_others(struct oracle *oracle, uint32_t rank, uint32_t i)
{
    const struct program *program = oracle->program;
    const struct call *call = &program->calls[rank][i];
    struct cut *cut = &oracle->needs[rank][oracle->left[rank][i] - 1];
    if (call->verb == RECEIVE_INTO || call->verb == SSEND || call->verb == PROBE ||
        call->verb == RECEIVE)
        need_partner(oracle, cut, call);
    else if (call->verb >= FENCE && call->verb <= EXSCAN && call->verb != IBARRIER)
        need_members(oracle, cut, call, rank);
    else if (call->verb == WAIT_ALL)
        need_started(oracle, cut, rank, i);
    else if (call->verb == START) {
        int post = find_call(program, call->peer, call->number, POST, POST);
        need(cut, call->peer, oracle->entered[call->peer][post]);
    } else if (call->verb == WAIT_EXPOSED) {
        for (uint32_t other = 0; other < program->ranks; other++) {
            int complete = find_call(program, other, call->number, COMPLETE, COMPLETE);
            if (complete >= 0)
                need(cut, other, oracle->entered[other][complete]);
        }
    }
}

/* ---- locks ---- */

static uint32_t owner_of(const struct call *call, uint32_t rank)
{
    return call->verb >= SEND_FROM ? rank : call->peer;
}

/* A call that locks may return before anybody has the lock: the first access to the target's memory
 * waits for it, and without one nobody need ever have it. */
static void hold(struct oracle *oracle, uint32_t rank, uint32_t target, uint32_t lock)
{
    const struct program *program = oracle->program;
    const struct call *calls = program->calls[rank];
    uint32_t end = lock;
    while (end < program->length[rank] && calls[end].verb != UNLOCK_ALL &&
           (calls[end].verb != UNLOCK || calls[end].peer != target))
        end++;
    for (uint32_t i = lock + 1; i < end; i++) {
        if (!is_access(calls[i].verb) || owner_of(&calls[i], rank) != target)
            continue;
        struct hold *hold = &oracle->holds[oracle->hold_count++];
        *hold = (struct hold){(uint8_t)rank, (uint8_t)target, oracle->entered[rank][i],
                              oracle->entered[rank][end], calls[lock].verb == LOCK_EXCLUSIVE};
        oracle->locks[rank][oracle->entered[rank][i] - 1] = hold;
        return;
    }
}

static void find_locks(struct oracle *oracle, uint32_t rank)
{
    const struct program *program = oracle->program;
    for (uint32_t i = 0; i < program->length[rank]; i++) {
        const struct call *call = &program->calls[rank][i];
        for (uint32_t target = 0; target < program->ranks; target++)
            if (call->verb == LOCK_ALL || (call->peer == target && (call->verb == LOCK_EXCLUSIVE ||
                                                                    call->verb == LOCK_SHARED)))
                hold(oracle, rank, target, i);
    }
}

static bool is_free(const struct oracle *oracle, const struct cut *at, const struct hold *wanted)
{
    for (uint32_t i = 0; i < oracle->hold_count; i++) {
        const struct hold *hold = &oracle->holds[i];
        bool held = at->at[hold->rank] >= hold->from && at->at[hold->rank] < hold->to;
        if (held && hold->rank != wanted->rank && hold->target == wanted->target &&
            (hold->exclusive || wanted->exclusive))
            return false;
    }
    return true;
}

/* ---- accesses ---- */

static bool is_atomic(uint8_t verb)
{
    return (verb >= SUM && verb <= SWAP) || verb == RSUM;
}

static bool updates(uint8_t verb)
{
    return verb != GET && verb != RGET && verb != FETCH && verb != LOAD && verb != SEND_FROM;
}

static bool returns_something(uint8_t verb)
{
    return verb >= FETCH_SUM && verb <= SWAP;
}

/* What an atomic operation computes; 0: it goes with all. */
static char computes(uint8_t verb)
{
    return verb == PRODUCT ? '*' : verb == REPLACE ? '=' : verb == FETCH || verb == SWAP ? 0 : '+';
}

static bool touch_each_other(const struct way_access *a, const struct way_access *b)
{
    return a->owner == b->owner && (places_of(a->call) & places_of(b->call));
}

/* Whether it matters that both are under way at once. */
static bool conflict(const struct oracle *oracle, const struct way_access *a,
                     const struct way_access *b)
{
    uint8_t one = a->call->verb, other = b->call->verb;
    bool local = !is_remote(one) && !is_remote(other) && a->rank == b->rank;
    if (!touch_each_other(a, b) || (!updates(one) && !updates(other)) || local)
        return false;
    if (!is_atomic(one) || !is_atomic(other))
        return true;
    if ((one == SUM_OF_FLOATS) != (other == SUM_OF_FLOATS))
        return true; /* atomic are those of one basic type */
    if (a->rank == b->rank && !oracle->program->unordered)
        return false; /* carried out in the order of their origin */
    if (oracle->program->same_op && (one == FETCH) != (other == FETCH))
        return one != SWAP && other != SWAP;
    return computes(one) && computes(other) && computes(one) != computes(other);
}

/* Whether a later call of the same rank has completed the access at its target. */
static bool completes(const struct call *call, const struct way_access *access)
{
    uint8_t verb = access->call->verb;
    bool mine = call->peer == access->owner;
    switch ((enum verb)call->verb) {
    case UNLOCK:
    case FLUSH:
        return is_remote(verb) && mine;
    case UNLOCK_ALL:
    case FLUSH_ALL:
        return is_remote(verb);
    case FLUSH_LOCAL: /* what was read is here, hence has been read */
        return is_remote(verb) && mine && !updates(verb);
    case FLUSH_LOCAL_ALL:
    case COMPLETE:
        return is_remote(verb) && !updates(verb);
    case WAIT_ALL:
        return verb == RGET || verb == IRECEIVE_INTO;
    default:
        return false;
    }
}

static void find_ends(const struct oracle *oracle, struct way_access *access)
{
    const struct program *program = oracle->program;
    uint32_t rank = access->rank;
    struct cut *ways = access->ways;
    if (access->call->verb >= LOAD && access->call->verb <= RECEIVE_INTO)
        need(&ways[access->way_count++], rank, oracle->left[rank][access->number]);
    for (uint32_t i = access->number + 1u; i < program->length[rank] && !access->way_count; i++)
        if (completes(&program->calls[rank][i], access))
            need(&ways[access->way_count++], rank, oracle->left[rank][i]);
    /* Fences complete what was before them, before anybody goes on. */
    for (uint32_t i = access->number + 1u;
         is_remote(access->call->verb) && i < program->length[rank]; i++) {
        const struct call *call = &program->calls[rank][i];
        if (call->verb != FENCE)
            continue;
        need_members(oracle, &ways[access->way_count++], call, rank);
        break;
    }
    /* MPI_Win_complete is for the origin; at the target an access ends with MPI_Win_wait there. */
    for (uint32_t i = access->number + 1u; i < program->length[rank]; i++) {
        const struct call *call = &program->calls[rank][i];
        if (call->verb != COMPLETE || !is_remote(access->call->verb))
            continue;
        int wait = find_call(program, access->owner, call->number, WAIT_EXPOSED, WAIT_EXPOSED);
        need(&ways[access->way_count++], access->owner, oracle->left[access->owner][wait]);
        break;
    }
}

static void find_accesses(struct oracle *oracle, uint32_t rank)
{
    const struct program *program = oracle->program;
    for (uint32_t i = 0; i < program->length[rank]; i++) {
        const struct call *call = &program->calls[rank][i];
        if (!is_access(call->verb))
            continue;
        if (oracle->access_count == ACCESSES_MAX) {
            oracle->too_large = true;
            return;
        }
        struct way_access *access = &oracle->accesses[oracle->access_count++];
        *access = (struct way_access){.call = call,
                                      .rank = (uint8_t)rank,
                                      .number = (uint8_t)i,
                                      .owner = (uint8_t)owner_of(call, rank),
                                      .begin = oracle->entered[rank][i]};
        find_ends(oracle, access);
    }
}

static void compare_accesses(struct oracle *oracle)
{
    for (uint32_t i = 0; i < oracle->access_count; i++)
        for (uint32_t j = 0; j < oracle->access_count; j++) {
            struct way_access *a = &oracle->accesses[i], *b = &oracle->accesses[j];
            if (i == j)
                continue;
            if (conflict(oracle, a, b))
                a->conflicts |= 1u << j;
            else if (touch_each_other(a, b) && a->rank != b->rank && is_atomic(a->call->verb) &&
                     is_atomic(b->call->verb) &&
                     (updates(a->call->verb) || updates(b->call->verb)) &&
                     (returns_something(a->call->verb) || returns_something(b->call->verb)))
                a->meets |= 1u << j;
        }
}

/* ---- all orders ---- */

static bool has_passed(const struct oracle *oracle, const struct cut *at, const struct cut *cut)
{
    for (uint32_t rank = 0; rank < oracle->program->ranks; rank++)
        if (at->at[rank] < cut->at[rank])
            return false;
    return true;
}

static void look(struct oracle *oracle, const struct cut *at)
{
    uint32_t under_way = 0;
    for (uint32_t i = 0; i < oracle->access_count; i++) {
        const struct way_access *access = &oracle->accesses[i];
        bool over = at->at[access->rank] < access->begin;
        for (uint32_t w = 0; w < access->way_count && !over; w++)
            over = has_passed(oracle, at, &access->ways[w]);
        under_way |= (uint32_t)!over << i;
    }
    for (uint32_t i = 0; i < oracle->access_count; i++)
        if (under_way >> i & 1) {
            oracle->accesses[i].races |= under_way & oracle->accesses[i].conflicts;
            oracle->accesses[i].met |= under_way & oracle->accesses[i].meets;
        }
}

static bool may_step(const struct oracle *oracle, const struct cut *at, uint32_t rank)
{
    uint8_t step = at->at[rank];
    return step < oracle->steps[rank] && has_passed(oracle, at, &oracle->needs[rank][step]) &&
           (!oracle->locks[rank][step] || is_free(oracle, at, oracle->locks[rank][step]));
}

static void walk_all(struct oracle *oracle)
{
    size_t weights[RANKS_MAX + 1] = {1};
    uint32_t ranks = oracle->program->ranks;
    for (uint32_t rank = 0; rank < ranks && weights[rank] <= STATES_MAX; rank++)
        weights[rank + 1] = weights[rank] * (oracle->steps[rank] + 1u);
    oracle->too_large |= weights[ranks] == 0 || weights[ranks] > STATES_MAX;
    if (oracle->too_large)
        return;
    unsigned char *seen = calloc(weights[ranks] / 8 + 1, 1);
    struct cut *todo = malloc(weights[ranks] * sizeof *todo);
    size_t count = 1;
    todo[0] = (struct cut){0};
    while (count) {
        struct cut at = todo[--count];
        bool stands = true, ends = true;
        oracle->states++;
        look(oracle, &at);
        for (uint32_t rank = 0; rank < ranks; rank++) {
            ends = ends && at.at[rank] == oracle->steps[rank];
            if (!may_step(oracle, &at, rank))
                continue;
            stands = false;
            struct cut next = at;
            next.at[rank]++;
            size_t number = 0;
            for (uint32_t r = 0; r < ranks; r++)
                number += weights[r] * next.at[r];
            if (!(seen[number / 8] >> number % 8 & 1))
                todo[count++] = next;
            seen[number / 8] |= (unsigned char)(1u << number % 8);
        }
        oracle->hangs |= stands && !ends;
    }
    free(seen);
    free(todo);
}

static void ask_oracle(struct oracle *oracle, const struct program *program)
{
    memset(oracle, 0, sizeof *oracle);
    oracle->program = program;
    number_steps(oracle);
    for (uint32_t rank = 0; rank < program->ranks; rank++) {
        for (uint32_t i = 0; i < program->length[rank]; i++)
            need_others(oracle, rank, i);
        find_locks(oracle, rank);
        find_accesses(oracle, rank);
    }
    compare_accesses(oracle);
    walk_all(oracle);
}

#endif
