/* The standard streams of ranks: who takes what they print. See cli/running/rank_output.h for why.
 */
#ifndef SIM_LIBC_OUTPUT_H
#define SIM_LIBC_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct sim_libc_state;

struct sim_output {
    /* Text of a rank, -1: of nobody, for stream 1 or 2 (stdout or stderr). */
    void (*text)(void *context, int rank, int stream, const char *text, size_t size);
    /* The rank's stream goes to this file from now on. */
    bool (*redirect)(void *context, int rank, int stream, FILE *file);
    void *context;
};

/* From now on stdout and stderr of the process are streams that hand everything to `output`. A
 * rank's calls that would change or close them, for all ranks, act on its own part or do nothing.
 * False: out of memory. */
bool sim_libc_output(const struct sim_output *output);
/* Hands on what the calling rank, of this state, printed ahead of its turn; it has the turn now. */
void sim_libc_output_kept(struct sim_libc_state *state);
/* write(2) of a rank. */
ssize_t sim_libc_write(int descriptor, const void *data, size_t size);

#endif
