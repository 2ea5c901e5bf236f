/* test_schedule.c: the named kinds of pipeline schedules: what every rank computes, in an order
 * that can run, and the same after a way through a file. */
#include "collectives/systems/schedule/rows.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const kinds[] = {"gpipe",       "1f1b", "interleaved",
                                    "zero-bubble", "v",    "bidirectional"};
static const char *const forms[] = {"separate", "batched", "ordered"};
enum { KINDS = sizeof kinds / sizeof *kinds, FORMS = sizeof forms / sizeof *forms };

/* How often a rank does something. */
static int times(const struct schedule *schedule, int rank, enum schedule_kind kind, int stage,
                 int microbatch)
{
    const struct schedule_row *row = &schedule->rows[rank];
    int count = 0;
    for (size_t a = 0; a < row->action_count; a++)
        count += row->actions[a].kind == kind && row->actions[a].stage == stage &&
                 row->actions[a].microbatch == microbatch;
    return count;
}

/* Forward once, and backward once, whole or in halves, on the stage's own rank alone. */
static bool computes_once(const struct schedule *schedule, int stage, int m)
{
    int chain = stage / (schedule->stages / schedule->chains);
    int due = m * schedule->chains / schedule->microbatches == chain;
    for (int r = 0; r < schedule->ranks; r++) {
        int here = schedule->rank_of[stage] == r ? due : 0;
        int whole = times(schedule, r, SCHEDULE_B, stage, m);
        if (times(schedule, r, SCHEDULE_F, stage, m) != here ||
            whole + times(schedule, r, SCHEDULE_I, stage, m) != here ||
            whole + times(schedule, r, SCHEDULE_W, stage, m) != here)
            return false;
    }
    return true;
}

static bool is_complete(const struct schedule *schedule)
{
    for (int s = 0; s < schedule->stages; s++)
        for (int m = 0; m < schedule->microbatches; m++)
            if (!computes_once(schedule, s, m))
                return false;
    return true;
}

/* Every message has its other end. */
static bool is_paired(const struct schedule *schedule)
{
    for (int r = 0; r < schedule->ranks; r++)
        for (size_t a = 0; a < schedule->rows[r].action_count; a++) {
            const struct schedule_action *action = &schedule->rows[r].actions[a];
            enum schedule_kind other =
                kind_is_send(action->kind) ? action->kind + 1 : action->kind - 1;
            int partner = message_partner(action);
            if (kind_is_message(action->kind) && times(schedule, schedule->rank_of[partner], other,
                                                       partner, action->microbatch) != 1)
                return false;
        }
    return true;
}

static bool same_rows(const struct schedule *a, const struct schedule *b)
{
    for (int r = 0; r < a->ranks; r++) {
        const struct schedule_row *x = &a->rows[r], *y = &b->rows[r];
        if (x->cell_count != y->cell_count || x->action_count != y->action_count)
            return false;
        for (size_t c = 0; c < x->cell_count; c++)
            if (x->cells[c].first != y->cells[c].first || x->cells[c].end != y->cells[c].end)
                return false;
        for (size_t i = 0; i < x->action_count; i++)
            if (x->actions[i].kind != y->actions[i].kind ||
                x->actions[i].stage != y->actions[i].stage ||
                x->actions[i].microbatch != y->actions[i].microbatch)
                return false;
    }
    return a->ranks == b->ranks && a->stages == b->stages && a->microbatches == b->microbatches;
}

/* Without a message a file says nothing of two chains: they are read as one. */
static bool survives_a_file(const struct schedule *schedule, const char *path)
{
    char why[200] = "";
    if (schedule->chains == 2 && schedule->ranks == 1)
        return true;
    if (!schedule_write(schedule, path, why, sizeof why))
        return false;
    struct schedule *again = schedule_read(path, why, sizeof why);
    bool same = again && same_rows(schedule, again);
    schedule_free(again);
    return same;
}

static void test_kind(const char *kind, const char *form, const char *path)
{
    int made = 0, complete = 0, paired = 0, kept = 0;
    for (int ranks = 1; ranks <= 6; ranks++)
        for (int m = 1; m <= 12; m++) {
            char why[200] = "";
            struct schedule_plan plan = {kind, form, ranks, m, 1 + m % 3};
            struct schedule *schedule = schedule_new(&plan, why, sizeof why);
            if (!schedule) /* counts that do not fit, which another test looks at */
                continue;
            made++;
            complete += is_complete(schedule);
            paired += is_paired(schedule);
            kept += survives_a_file(schedule, path);
            schedule_free(schedule);
        }
    tap_ok(made >= 20 && complete == made,
           "%s, messages %s: every stage computes every microbatch once, in %d sizes", kind, form,
           made);
    tap_ok(made && paired == made, "%s, messages %s: every message has its other end", kind, form);
    tap_ok(made && kept == made, "%s, messages %s: a file keeps all of it", kind, form);
}

static void rebatched(const struct schedule_plan *plan, const char *expected)
{
    char why[200] = "";
    struct schedule *schedule = schedule_new(plan, why, sizeof why);
    tap_ok(!schedule, "rebatched: %s", expected);
    tap_is_str(why, expected, "with this sentence");
    schedule_free(schedule);
}

static void file_rebatched(const char *path, const char *text, const char *expected)
{
    char why[200] = "", whole[400];
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    struct schedule *schedule = schedule_read(path, why, sizeof why);
    snprintf(whole, sizeof whole, "%s:%s", path, expected);
    tap_ok(!schedule, "a file is rebatched: %s", expected);
    tap_is_str(why, whole, "with place and reason");
    schedule_free(schedule);
}

static void test_refusals(const char *path)
{
    rebatched(&(struct schedule_plan){"zigzag", "batched", 2, 4, 1},
              "no kind of schedule is called \"zigzag\": gpipe, 1f1b, interleaved, zero-bubble, v, "
              "bidirectional");
    rebatched(&(struct schedule_plan){"gpipe", "late", 2, 4, 1},
              "messages can be separate, batched or ordered, not \"late\"");
    rebatched(&(struct schedule_plan){"interleaved", "ordered", 4, 6, 2},
              "an interleaved schedule needs at least one chunk, and microbatches in multiples of "
              "the 4 ranks: 2 chunks and 6 microbatches given");
    rebatched(&(struct schedule_plan){"bidirectional", "ordered", 4, 7, 2},
              "a bidirectional schedule needs an even number of microbatches, not 7");
    rebatched(&(struct schedule_plan){"gpipe", "ordered", 4, 0, 2},
              "a schedule needs ranks and microbatches: 4 and 0 given");
    file_rebatched(path, "0F0,2F0\n", " no row computes stage 1");
    file_rebatched(path, "0F0,0SEND_F0\n1F0,0SEND_B0\n", "2:5: stage 0 is on row 1 already");
    file_rebatched(path, "0F0\n1F0,1SEND_F0\n",
                   " row 2 has 1SEND_F0, but there is no such neighbour");
    file_rebatched(path, "0F0,0G0\n", "1:6: unknown action \"G0\"");
    file_rebatched(path, "1F0,0F0,0B0,1B0\n0F1\n", "2:1: stage 0 is on row 1 already");
}

int main(void)
{
    char path[] = "/tmp/simrun-schedule-XXXXXX";
    close(mkstemp(path));
    for (int k = 0; k < KINDS; k++)
        for (int f = 0; f < FORMS; f++)
            test_kind(kinds[k], forms[f], path);
    test_refusals(path);
    unlink(path);
    return tap_done();
}
