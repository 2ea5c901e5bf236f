/* Answers of one run for another: see answers.h. */
#include "sim/base/answers.h"

#include <stdlib.h>

enum { TIMES_MAX = (1 << 29) - 1 };

/* Polls in vain come in long rows. */
static bool add_to_last(struct sim_answers *answers, enum sim_asked asked, int value)
{
    struct sim_answer *last = answers->count ? &answers->of[answers->count - 1] : NULL;
    if (!last || value >= 0 || asked == SIM_ASKED_SENDER || last->asked != asked ||
        last->value != value || last->times == TIMES_MAX)
        return false;
    last->times++;
    return true;
}

static bool grow(struct sim_answers *answers)
{
    if (answers->count < answers->room)
        return true;
    size_t room = answers->room ? 2 * answers->room : 16;
    struct sim_answer *larger =
        answers->most && room > answers->most ? NULL : realloc(answers->of, room * sizeof *larger);
    if (!larger)
        return false;
    answers->of = larger;
    answers->room = room;
    return true;
}

size_t sim_answers_note(struct sim_answers *answers, enum sim_asked asked, int value)
{
    answers->unsure = answers->unsure || !grow(answers);
    answers->missed += answers->unsure;
    if (answers->unsure)
        return 0;
    if (!add_to_last(answers, asked, value))
        answers->of[answers->count++] =
            (struct sim_answer){.value = value, .asked = asked, .times = 1};
    return answers->count;
}

void sim_answers_know(struct sim_answers *answers, size_t number, int value)
{
    answers->of[number - 1].value = value;
}

bool sim_answers_next(const struct sim_answers *answers, struct sim_answers_place *place,
                      enum sim_asked asked, int *value)
{
    place->lost =
        place->lost || place->at >= answers->count || answers->of[place->at].asked != asked;
    place->in_vain = false;
    if (place->lost)
        return false;
    const struct sim_answer *answer = &answers->of[place->at];
    *value = answer->value;
    place->in_vain = answer->value < 0;
    if (++place->times == answer->times) {
        place->at++;
        place->times = 0;
    }
    return true;
}
