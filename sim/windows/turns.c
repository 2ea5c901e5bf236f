/* The order of locks and of atomic operations in further runs: see turns.h. */
#include "sim/windows/turns.h"

#include "sim/messages/request.h"

static struct sim_turn turn_of(struct sim_win *win, int *counter)
{
    const struct sim_world_options *options = &win->owner->world->options;
    struct sim_turn turn = {.of = NULL, .number = 0};
    if (win->keeps_order || (!options->answers_noted && !options->answers_followed))
        return turn;
    turn.of = counter;
    sim_request_answered(win->owner, SIM_ASKED_TURN, &turn.number);
    return turn;
}

struct sim_turn sim_turn_of_lock(struct sim_win *win, int target)
{
    return turn_of(win, &win->window->parts[target].locks_taken);
}

struct sim_turn sim_turn_of_atomic(struct sim_win *win, int target)
{
    return turn_of(win, &win->window->parts[target].atomics_done);
}

void sim_turn_take(struct sim_win *win, const struct sim_turn *turn)
{
    if (!turn->of)
        return;
    sim_request_answer_note(win->owner, SIM_ASKED_TURN, *turn->of);
    ++*turn->of;
    if (win->owner->world->options.answers_followed)
        sim_win_changed(win->window);
}
