/* Persistent operations as the recorder keeps them, for ordinary and partitioned messages. */
#ifndef RECORDER_WRAPPERS_PERSISTENT_H
#define RECORDER_WRAPPERS_PERSISTENT_H

#include "recorder/wrappers/wrappers.h"

/* The request was made: what starting it will issue. NULL: not recorded. */
struct recorder_request *persistent_keep(struct recorder_rank *me, enum op_kind kind,
                                         const struct wrapper_side *side, MPI_Comm comm,
                                         MPI_Request request);
/* It begins: its operation. */
void persistent_issue(struct recorder_rank *me, struct recorder_request *request, const void *site);
/* A collective that began: the counts of the call that made it, and for whom watches its numbers. */
void persistent_said(struct recorder_rank *me, const struct record_op *op,
                     const struct recorder_request *request);

#endif
