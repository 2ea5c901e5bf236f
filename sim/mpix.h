/* What the simulator offers beyond MPI. On a real MPI, link collectives/peers/peer.c and
 * recorder/preload/machine_absent.c, where each of these does the sensible nothing. */
#ifndef SIM_MPIX_H
#define SIM_MPIX_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Per-rank storage for the layers above the machine: an array of MPIX_SLOTS pointers of the calling
 * rank, NULL when the caller is not a rank. Initial values come from the world's options. */
enum {
    MPIX_SLOT_RECORDER,
    MPIX_SLOT_DIFF,
    MPIX_SLOT_PROBE,
    MPIX_SLOT_SYSTEM,
    MPIX_SLOT_PRINTED,
    MPIX_SLOT_SPARE1,
    MPIX_SLOT_WATCH,
    MPIX_SLOTS
};
void **MPIX_Rank_slots(void);

/* World rank and world size of the caller without a communicator; -1 and 0 outside a rank. */
int MPIX_World_rank(void);
int MPIX_World_size(void);

/* Whether a handle is a datatype now; always on a real MPI, which may not be asked. */
int MPIX_Type_known(MPI_Datatype type);

/* Bytes of the message that a status tells of; -1: unknown. */
int64_t MPIX_Status_bytes(const MPI_Status *status);

/* Logical time: scheduler steps of this world so far; where ranks are OS threads, of the caller. */
uint64_t MPIX_Steps(void);
/* Where that number stands as long as the caller's rank lives, what it was when the rank had its turn
 * last, and whether calls have to wait for that. False: it must be asked for. */
struct mpix_pace {
    const uint64_t *steps, *turned;
    const bool *wide;
};
bool MPIX_Pace(struct mpix_pace *pace);
/* Comes back when it is the calling rank's turn: before it leaves anything that others see. */
void MPIX_Turn(void);
/* It came back from its last call before that. Where the world has ended, the caller does not come
 * back from here. */
bool MPIX_Ahead(void);
/* The calling thread is the only one that may speak for its rank, whichever thread that is. */
bool MPIX_Alone(void);

/* The one source of nondeterminism: an index below n (n >= 1). Driven by the run's driver: always 0
 * (default), a seed, a recording, or enumeration. 0 on a real MPI. */
enum {
    MPIX_CHOOSE_WILDCARD,
    MPIX_CHOOSE_READY,
    MPIX_CHOOSE_WAITANY,
    MPIX_CHOOSE_BUFFERED,
    MPIX_CHOOSE_RUN,
    MPIX_CHOOSE_OTHER
};
int MPIX_Choose(int kind, int n);
/* The same among things that have numbers, by which a schedule can name them; what has the number 0
 * matters to nobody but the caller. */
int MPIX_Choose_named(int kind, int n, const unsigned *names);

/* Waits for a message from anybody, as MPI_Probe with MPI_ANY_SOURCE, but gives up, with *flag 0,
 * after `ticks` of a time that passes only when nobody in the world can do anything else: no
 * message that is on its way comes too late, and who is the least patient gives up first. On a real
 * MPI: after so many Iprobes that found nothing. */
int MPIX_Probe_patient(int tag, MPI_Comm comm, uint64_t ticks, int *flag, MPI_Status *status);

/* Lets other ranks run; the caller stays ready. Inside a loop that only polls, MPI's own calls do
 * this. */
void MPIX_Yield(void);

/* Ends the calling rank with a finding: code as in `simrun explain`, text one sentence. Does not
 * return under simrun; on a real MPI it prints the sentence and aborts. */
void MPIX_Fail(const char *code, const char *text);

/* Ends the run: the words the program was given are of no use, `text` is one sentence that names
 * the word and what would do. Nothing is judged; simrun says the sentence and ends with 2, as for
 * its own options. Does not return; on a real MPI it prints the sentence and ends with 2. */
void SIM_Usage(const char *text);

/* Operations started between begin and end move together, under the atomic-batch progress model:
 * none completes before each is matched. Batches do not nest. No-ops on a real MPI. */
void SIM_Batch_begin(void);
void SIM_Batch_end(void);

/* Says what the caller's next operation moves, such as the name of a gradient bucket: a collective
 * in which different names meet is a finding (R002). NULL takes it back. A no-op on a real MPI. */
void SIM_Tensor_name(const char *name);

/* Keeps a number the program measured on the calling rank: `simrun show metrics` lists it,
 * `simrun graph --view metrics` and the report plot it over `step`. Names that share their first
 * word share a plot, the rest tells its curves: "gradient_norm M=4", "gradient_norm M=8". NaN as
 * step: a number by itself. A no-op on a real MPI. */
void SIM_Metric(const char *name, double step, double value);

#ifdef __cplusplus
}
#endif
#endif
