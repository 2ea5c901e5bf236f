/* The probe: how a gradient check looks into a world and pushes at it.
 *
 * Whoever runs a world sets one probe in MPIX_SLOT_PROBE of all its ranks. In the base world it
 * collects each rank's inputs, objective and gradients. In a perturbed world it tells what to add
 * to which input, collects the objective, and backward passes do nothing. Each rank touches only
 * its own row, so no lock.
 *
 * An epoch is one filling of a tape: inputs and objectives belong to one, and a gradient is checked
 * against the objective of its own epoch only. Epoch 0 is that of the marks. An input that an
 * earlier epoch had as well is one that is trained: a perturbed world, which has no gradients to
 * train it by, takes its values from the base world. */
#ifndef COLLECTIVES_EXPERIMENT_PROBE_H
#define COLLECTIVES_EXPERIMENT_PROBE_H

#include "collectives/experiment/rows.h"

/* An empty base probe for `ranks` ranks; false without memory. */
bool diff_probe_init(struct diff_probe *probe, int ranks);
void diff_probe_release(struct diff_probe *probe);
/* Forgets what a world collected, for another one with the same pushes; false without memory. */
bool diff_probe_restart(struct diff_probe *probe);

/* How many doubles the input's values, and those of its gradient, are. */
size_t probe_input_parts(const struct probe_input *input);

/* The number of the first call after a position that the program made by itself, or that an operation
 * which is on no tape made for it. */
uint32_t probe_call_after(const struct diff_probe_rank *row, uint32_t position);

/* ---- called by the library inside the world ---- */

/* Meets the next input of this rank: adds the perturbation to the values or collects them. Returns
 * its index. */
size_t probe_meet_input(struct diff_state *state, const char *name, enum diff_type type,
                        size_t count, uint32_t epoch, struct probe_team team, bool marked,
                        void *values);
/* Adds the tangent of the losses of a backward call. */
void probe_add_tangent(struct diff_state *state, uint32_t epoch, uint64_t pass, double tangent);
/* What losses' seeds and tangents of inputs are multiplied by. */
double probe_factor(const struct diff_state *state);
/* The tangent the probe wants for this input, NULL for none. */
const double *probe_tangent(const struct diff_state *state, size_t index);
void probe_add_objective(struct diff_state *state, uint32_t epoch, uint64_t pass, double value,
                         struct probe_team team);
/* A pass of the epoch begins with cotangents of the program's own. */
void probe_note_given(struct diff_state *state, uint32_t epoch);
/* Collects the gradient of the input met as number `index`, which adds up since `first_pass`. */
void probe_keep_gradient(struct diff_state *state, size_t index, enum diff_type type, size_t count,
                         const void *values, uint64_t first_pass);
/* In a world whose passes do nothing: the parts of the gradient that the base world's input had in
 * the end, where it adds up since the same pass, and this rank has all its losses behind it: what
 * is computed further from a gradient stays out of the differences. NULL: none. */
const double *probe_base_gradient(const struct diff_state *state, size_t index, size_t parts,
                                  uint64_t first_pass);
/* Notes the recorder's number of a node. */
void probe_keep_record(struct diff_state *state, uint32_t epoch, uint32_t sequence,
                       uint32_t record);
/* The node noted last is done. */
void probe_keep_position(struct diff_state *state);
bool probe_perturbed(const struct diff_state *state);
/* A perturbed world, but one whose calls are watched: what tools make of backward passes is there. */
bool probe_skips_passes(const struct diff_state *state);
/* Whether nodes may be forgotten at once: a perturbed world that will run no backward pass. */
bool probe_needs_no_tape(const struct diff_state *state);

#endif
