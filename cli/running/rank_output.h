/* What the ranks print, kept in lines.
 *
 * stdout and stderr of a run's child hand every byte to here. A rank's bytes stand in its own
 * unfinished line until the newline comes, so that lines of ranks never mix; a finished line is
 * written at once, with the rank in front when asked for. Unfinished lines lie in memory the parent
 * shares: whatever kills the child, what was printed is not lost. A rank that reopens its stdout on
 * a file has that file to itself. */
#ifndef CLI_RUNNING_RANK_OUTPUT_H
#define CLI_RUNNING_RANK_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

struct rank_output;

/* By the parent, before it forks. NULL: no memory. */
struct rank_output *rank_output_new(int ranks, bool tag);
void rank_output_free(struct rank_output *output, int ranks);

/* In the child: what is printed through stdio from now on, and to descriptors 1 and 2 by the
 * program, comes here. All of it ends up on descriptor 2. */
void rank_output_install(struct rank_output *output);
/* In the child: nothing is written any more. */
void rank_output_silence(struct rank_output *output);
/* Ends the lines that are not: by the child when its ranks have ended, by the parent when the child
 * has. The program under test may have written over this memory: the parent says how many ranks
 * there are. */
void rank_output_finish(struct rank_output *output, int ranks);
/* A hash of what each rank printed on stdout before that, shown or not. */
uint64_t rank_output_printed(const struct rank_output *output, int ranks);
uint64_t rank_output_printed_of(const struct rank_output *output, int rank); /* of one */

#endif
