/* Building the rows of a schedule. Private to collectives/systems/schedule.
 *
 * Memory: these few thousand actions are taken to fit; running out aborts. */
#ifndef COLLECTIVES_SYSTEMS_SCHEDULE_ROWS_H
#define COLLECTIVES_SYSTEMS_SCHEDULE_ROWS_H

#include "collectives/systems/schedule/schedule.h"

/* Rows without cells; stages are not placed. */
struct schedule *rows_new(int ranks, int stages, int chains, int microbatches);
/* A cell of its own; the stage is placed on the rank if it computes. */
void rows_add(struct schedule *schedule, int rank, struct schedule_action action);
/* Adds to the last cell of the rank. */
void rows_join(struct schedule *schedule, int rank, struct schedule_action action);

/* The cell as the CSV has it: "0F1;1B0". False when there is not enough room. */
bool rows_cell_text(const struct schedule_row *row, const struct schedule_cell *cell, char *text,
                    size_t room);

/* First and last of its chain. */
bool stage_is_first(const struct schedule *schedule, int stage);
bool stage_is_last(const struct schedule *schedule, int stage);
bool kind_is_message(enum schedule_kind kind);
bool kind_is_send(enum schedule_kind kind);
bool kind_is_backward(enum schedule_kind kind); /* I or B */
/* The stage at the other end of a message. */
int message_partner(const struct schedule_action *message);

/* The computations of a kind, without messages; NULL and why. */
struct schedule *kinds_make(const struct schedule_plan *plan, char *why, size_t room);
/* The same computations with messages between them; NULL and why (a table that cannot run). */
struct schedule *messages_add(const struct schedule *computations, const char *form, char *why,
                              size_t room);

#endif
