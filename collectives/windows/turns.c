/* The turns of a target's locks: see phase.h. */
#include "collectives/windows/phase.h"

#include "collectives/experiment/probe.h"
#include "collectives/tape/tape.h"
#include "collectives/windows/exchange.h"

#include <mpix.h>
#include <stdlib.h>
#include <string.h>

void turns_prepare(struct diff_window *window)
{
    if (window->turns != MPI_WIN_NULL)
        return;
    uint64_t *counter = arena_take_zeroed(&window->tape->fixed, sizeof *counter);
    window_make(counter, 1, sizeof *counter, window->places->comm, &window->turns);
}

/* Room for it in what a gradient check keeps; its number there. */
static size_t turn_keep(struct diff_state *state, int target)
{
    struct diff_probe_rank *row = state->row;
    if (row->turn_count == row->turn_room) {
        row->turn_room = row->turn_room ? 2 * row->turn_room : 16;
        row->turns = realloc(row->turns, row->turn_room * sizeof *row->turns);
        if (!row->turns)
            state_fail(state, "X002", "the differentiable library ran out of memory");
    }
    row->turns[row->turn_count] = (struct probe_turn){target, -1, -1};
    return row->turn_count++;
}

bool turns_are_known(const struct diff_state *state)
{
    return probe_perturbed(state) && state->probe->base;
}

/* What the check's first run kept; a run that takes another branch may have more locks. */
static void turn_recall(struct turn *turn, struct diff_state *state)
{
    const struct diff_probe_rank *base = &state->probe->base->rows[MPIX_World_rank()];
    size_t number = state->row->turns_taken++;
    if (number >= base->turn_count || base->turns[number].target != turn->target)
        return;
    turn->before = base->turns[number].before;
    turn->after = base->turns[number].after;
}

struct turn *turn_take(struct phase *phase, int target)
{
    struct diff_tape *tape = phase->window->tape;
    struct turn *turn = arena_take_zeroed(&tape->arena, sizeof *turn);
    turn->target = target;
    turn->before = turn->after = -1;
    if (turns_are_known(tape->state))
        turn_recall(turn, tape->state);
    else if (tape->state->row)
        turn->kept = turn_keep(tape->state, target);
    if (phase->last)
        phase->last->next = turn;
    else
        phase->turns = turn;
    phase->last = turn;
    return turn;
}

void turn_count(struct turn *turn, const struct diff_window *window)
{
    static const uint64_t one = 1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, turn->target, 0, window->turns);
    MPI_Fetch_and_op(&one, &turn->number, MPI_UINT64_T, turn->target, 0, MPI_SUM, window->turns);
    MPI_Win_unlock(turn->target, window->turns);
}

/* A lock of this rank's memory. */
struct taken {
    uint64_t number;
    int origin, place; /* of the origin's numbers for this rank */
};

static int by_number(const void *a, const void *b)
{
    const struct taken *left = a, *right = b;
    return (left->number > right->number) - (left->number < right->number);
}

/* What the target answers for each of an origin's turns. */
enum { BEFORE, AFTER, ANSWERS };

static struct exchange answers_make(const struct exchange *asked)
{
    struct arena *arena = asked->arena;
    size_t size = (size_t)asked->size, count = 0;
    int *counts = arena_take(arena, size * sizeof *counts);
    for (size_t r = 0; r < size; r++) {
        counts[r] = ANSWERS * asked->counts[r];
        count += (size_t)asked->counts[r];
    }
    struct taken *taken = arena_take(arena, (count + 1) * sizeof *taken);
    count = 0;
    for (int r = 0; r < asked->size; r++)
        for (int i = 0; i < asked->counts[r]; i++)
            taken[count++] = (struct taken){asked->numbers[asked->begins[r] + i], r, i};
    qsort(taken, count, sizeof *taken, by_number);
    struct exchange answers = exchange_new(arena, asked->comm, counts);
    for (size_t k = 0; k < count; k++) {
        uint64_t *at = answers.numbers + answers.begins[taken[k].origin] + ANSWERS * taken[k].place;
        at[BEFORE] = k > 0 ? (uint64_t)taken[k - 1].origin : UINT64_MAX;
        at[AFTER] = k + 1 < count ? (uint64_t)taken[k + 1].origin : UINT64_MAX;
    }
    return answers;
}

static void kinds_compare(const struct diff_node *node, const struct phase *phase)
{
    int kinds[2] = {phase->turns != NULL, phase->all};
    MPI_Allreduce(MPI_IN_PLACE, kinds, 2, MPI_INT, MPI_MAX, phase->window->places->comm);
    if (kinds[0] && kinds[1])
        node_fail(node, "M009",
                  "one passive phase has locks of single targets and of all, whose order among "
                  "each other nothing tells: use either diff_win_lock or diff_win_lock_all in it");
}

void turns_settle(const struct diff_node *node, struct phase *phase)
{
    struct diff_tape *tape = node->tape;
    size_t size = (size_t)node->channel->size;
    int *counts = arena_take_zeroed(&tape->arena, 2 * size * sizeof *counts);
    int *used = counts + size;
    kinds_compare(node, phase);
    for (const struct turn *turn = phase->turns; turn; turn = turn->next)
        counts[turn->target]++;
    struct exchange own = exchange_new(&tape->arena, phase->window->places->comm, counts);
    for (const struct turn *turn = phase->turns; turn; turn = turn->next)
        own.numbers[own.begins[turn->target] + used[turn->target]++] = turn->number;
    struct exchange asked = exchange_run(&own);
    struct exchange answers = answers_make(&asked);
    struct exchange learnt = exchange_run(&answers);
    memset(used, 0, size * sizeof *used);
    for (struct turn *turn = phase->turns; turn; turn = turn->next) {
        const uint64_t *at =
            learnt.numbers + learnt.begins[turn->target] + ANSWERS * used[turn->target]++;
        turn->before = (int)at[BEFORE];
        turn->after = (int)at[AFTER];
        if (tape->state->row)
            tape->state->row->turns[turn->kept] =
                (struct probe_turn){turn->target, turn->before, turn->after};
    }
}

/* The rank whose turn comes before this one in a pass of that direction, or after it. */
static int neighbour(const struct turn *turn, const struct phase *phase, bool before)
{
    int rank = before ? turn->before : turn->after;
    return rank == phase->window->channel->rank ? -1 : rank;
}

void turn_await(const struct turn *turn, const struct phase *phase, enum direction direction)
{
    int from =
        direction == DIRECTION_FIRST ? -1 : neighbour(turn, phase, direction == DIRECTION_UP);
    if (from >= 0)
        MPI_Recv(NULL, 0, MPI_BYTE, from, turn->target, phase->window->places->comm,
                 MPI_STATUS_IGNORE);
}

void turn_pass(const struct turn *turn, struct phase *phase, enum direction direction)
{
    int to =
        direction == DIRECTION_FIRST ? -1 : neighbour(turn, phase, direction == DIRECTION_DOWN);
    if (to < 0)
        return;
    if (phase->told_count == phase->told_room) {
        size_t room = 2 * phase->told_room + 4;
        MPI_Request *more = arena_take(&phase->window->tape->arena, room * sizeof *more);
        if (phase->told_count)
            memcpy(more, phase->told, phase->told_count * sizeof *more);
        phase->told = more;
        phase->told_room = room;
    }
    MPI_Isend(NULL, 0, MPI_BYTE, to, turn->target, phase->window->places->comm,
              &phase->told[phase->told_count++]);
}
