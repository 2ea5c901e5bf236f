/* Faults on demand: what shall go wrong in a world, where, and what has.
 *
 * A fault names a rank and the number of one of its operations, counted from 1 as the trace does. It
 * strikes once, when the rank is in that operation and has not yet done anything that others see. A
 * message fault strikes the first message that the rank sends from that operation on. Whatever
 * struck is noted in the rank's record (X010), so that what follows is not taken for a defect of
 * the program. Without a record nobody counts operations, and nothing strikes. */
#ifndef SIM_WORLDS_FAULT_H
#define SIM_WORLDS_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_fault_kind {
    SIM_FAULT_CRASH,     /* the rank ends as if its process had been killed */
    SIM_FAULT_HANG,      /* it never returns from the operation */
    SIM_FAULT_SLOW,      /* from there on everybody else comes first, again and again */
    SIM_FAULT_OOM,       /* from there on the system ends it when it asks for memory */
    SIM_FAULT_DROP,      /* the message is lost */
    SIM_FAULT_DELAY,     /* it arrives when nobody can move without it, or before the next one */
    SIM_FAULT_DUPLICATE, /* it arrives twice */
    SIM_FAULT_CORRUPT,   /* one bit of it is another one */
    SIM_FAULT_CUT,       /* from there on messages between the rank and its peer are lost */
    SIM_FAULT_KINDS
};

struct sim_fault {
    enum sim_fault_kind kind;
    int rank, peer; /* peer: of a cut */
    uint32_t op;
};

enum { SIM_FAULTS_MAX = 64 };

struct sim_rank;
struct sim_world;

/* "crash"; and the kind of a name, -1 for none. */
const char *sim_fault_name(enum sim_fault_kind kind);
int sim_fault_kind(const char *name, size_t length);

/* The rank enters the machine: strikes what is due and concerns the rank itself. Before the monitor
 * is taken. May not return. */
void sim_fault_enter(struct sim_rank *rank);
/* Whether a message fault strikes what the rank sends to this world rank, from now on struck:
 * SIM_FAULT_KINDS for none. In the monitor. */
enum sim_fault_kind sim_fault_message(struct sim_rank *rank, int destination);
/* After the run: whether it struck. */
bool sim_fault_struck(const struct sim_world *world, size_t which);
/* The rank has sent itself a signal that cannot be caught. Where its errors come back the program
 * tries what becomes of the others: then that is a fault as asked for. */
_Noreturn void sim_fault_killed(struct sim_rank *rank, int number);
/* The rank asks for memory: whether it does not get any more. */
bool sim_fault_no_memory(struct sim_rank *rank);

#endif
