/* The codes of findings and what `simrun explain` says about each: see finding.h.
 *
 * Codes are stable; a meaning may be worded better, never changed. Order: as printed by a list of
 * all codes. */
#include "traces/finding.h"

#include <string.h>

#define E SEVERITY_ERROR
#define W SEVERITY_WARNING
#define N SEVERITY_NOTE

/* clang-format off */
static const struct finding_code codes[] = {
{"D001", "deadlock", E, "Ranks wait for each other and none can go on.",
 "In this run the named ranks stand in calls that only another of them could complete. Ranks listed as waiting outside the core are victims: they go on once the core does.",
 "rank 0: Recv(from 1); Send(to 1)\nrank 1: Recv(from 0); Send(to 0)",
 "Give the calls of the core an order in which somebody moves first: let one side send first, post the receives nonblocking, or use Sendrecv. If an operation is reported as never reached, find out why that rank skipped it."},
{"D002", "may-deadlock", E, "This run was lucky: another legal order, match or progress model deadlocks.",
 "The program leaves an order open (operations of a backward DAG that no edge orders, a wildcard receive, the completion of several requests), and at least one choice ends in a deadlock. The witness is such a choice.",
 "backward on rank 0: Recv* then Send*;  backward on rank 1: Send* then Recv*, nothing orders them",
 "Add the joins of the repair (diff_join at the named places), or run the backward pass in program order."},
{"D003", "unsafe-buffering", E, "Deadlocks as soon as a standard send waits for its receive.",
 "The program counts on MPI to buffer a standard send. MPI may, up to a size of its own choosing. 'Inherited' means the forward pass has the same fault and its adjoint mirrors it.",
 "every rank: Send(right); Recv(left)",
 "Post the receive first (Irecv, Send, Wait), use Sendrecv, or let even and odd ranks take turns."},
{"D004", "batch-deadlock", E, "Deadlocks when operations started together move only together.",
 "Grouped launches (batched isend and irecv, grouped GPU sends) complete none of their members before every member has its partner. Two ranks whose batches cut the traffic differently then wait for each other.",
 "rank 2: batch { recv from 0, recv from 1 };  rank 1 sends to 2 only after rank 2 answered 0",
 "Split the batch, or group the operations in the same way on both sides."},
{"D005", "livelock", E, "Every live rank polls and nothing changes any more.",
 "All ranks that have not ended call Test, Iprobe or the like in a loop, and no message is under way that could end one of the loops.",
 "while (!flag) MPI_Test(&request, &flag, ...);  /* nobody sends */",
 "Treat it like a deadlock: find the operation the polled request waits for."},
{"R001", "ordering-race-loud", E, "Two operations nothing orders can cross, and then they do not fit.",
 "The backward DAG lets these operations run in different orders on different ranks. They then meet the wrong partner with another kind, root, size or type: an error or a hang.",
 "y = Bcast(x, root 0); z = Bcast(w, root 1); their adjoints are unordered",
 "Order the two on every rank with a join, or use two communicators and the same order."},
{"R002", "ordering-race-silent", E, "Two operations nothing orders can cross, and nothing fails: values are swapped.",
 "As R001, but the operations have identical signatures. When they cross, every rank gets a value, only the wrong one. No test that looks for errors or hangs will see it.",
 "a = Allreduce(u); b = Allreduce(v); equal sizes, adjoints unordered",
 "Order the two on every rank with a join, or run the backward pass in program order."},
{"R003", "message-race", W, "A wildcard receive has more than one possible sender.",
 "Which message the receive gets depends on timing. The finding says whether the results of the runs that were tried differ.",
 "for (i = 1; i < size; i++) MPI_Recv(&x, 1, MPI_DOUBLE, MPI_ANY_SOURCE, ...);  sum = 2 * sum + x;",
 "Name the source, or make what follows independent of the order; replay the recorded sources when the operation is recomputed."},
{"R004", "matching-not-transposed", E, "The backward messages do not go the way the forward messages came.",
 "Each backward match must be the transpose of a forward match. Here an adjoint send reached the adjoint of another forward message: the gradient flows to the wrong place although every call succeeds.",
 "two messages with the same tag, adjoints reversed on one side only",
 "Use distinct tags, or run the adjoints in the reverse order on both sides."},
{"R005", "context-collision", E, "Forward and backward traffic can match each other.",
 "An adjoint operation uses a communicator and tag that a forward operation uses too, and nothing orders the two.",
 "adjoint tag = tag + 10, and the forward pass also uses tag 10",
 "Run adjoint traffic on a duplicate of the communicator."},
{"M001", "collective-kind", E, "Ranks call different collectives where the same one must stand.",
 "The n-th collective on a communicator differs between ranks. MPI leaves the result undefined: a hang, an abort or wrong data.",
 "rank 0: Bcast; rank 1: Reduce", "Make all ranks of the communicator call the same sequence of collectives; look for a branch on the rank or on data."},
{"M002", "collective-root", E, "Ranks name different roots in one collective.",
 "A rooted collective was called with roots that differ between ranks; often a world rank was given where a rank of the communicator is meant.",
 "Bcast(..., root = rank, ...)", "Compute the root from values all ranks share, in ranks of that communicator."},
{"M003", "collective-op", E, "Ranks name different reduction operations in one collective.",
 "One rank reduces with one operation, another with a different one.", "rank 0: Allreduce(SUM); rank 1: Allreduce(MAX)", "Use the same operation on all ranks."},
{"M004", "collective-datatype", E, "Ranks name different basic types in one collective.",
 "The type signatures of a collective must agree between ranks. Equal sizes hide the fault on one machine only.",
 "rank 0: Bcast of 4 float; rank 1: Bcast of 4 int", "Use the same basic type on all ranks."},
{"M005", "collective-count", E, "Ranks disagree about how much a collective moves.",
 "Counts, or the counts of one pair of ranks in a v-form, differ between sender and receiver.",
 "rank 0: Allreduce of 10; rank 1: Allreduce of 12", "Exchange the counts first, or compute them from shared values."},
{"M006", "collective-communicator", E, "Ranks call one collective on different communicators, or in another order.",
 "Two communicators over the same ranks are used in different orders, so each waits on a different one.",
 "rank 0: Barrier(A), Barrier(B); rank 1: Barrier(B), Barrier(A)", "Use one order of communicators on all ranks."},
{"M007", "truncation", E, "A message is longer than the receive that takes it.",
 "The matched send holds more elements than the receive has room for. MPI raises MPI_ERR_TRUNCATE at the receiver; the cause often lies in a match that was not meant.",
 "Send of 8 double met by Recv of 4 double", "Enlarge the receive, or give the two messages distinct tags."},
{"M008", "datatype-signature", E, "Sender and receiver disagree about the basic types of a message.",
 "The bytes are moved but mean something else on the other side.", "Send of 4 float met by Recv of 4 int", "Use the same basic type on both sides; MPI_BYTE only with MPI_BYTE."},
{"M009", "invalid-argument", E, "A call was made with an argument MPI does not allow.",
 "The named argument (rank, tag, count, root, type, operation, handle or buffer) is out of range or not valid at that moment.", "MPI_Send(..., dest = size, ...)", "Look at the value that is reported and where it comes from."},
{"M010", "missing-participant", E, "A rank never calls a collective the others wait in.",
 "All other ranks of the communicator reached this collective, this rank went another way or ended.", "if (loss > 0) MPI_Allreduce(...);", "Make the condition the same on all ranks."},
{"B001", "buffer-in-use", E, "A buffer was touched between the start and the completion of its operation.",
 "A send buffer was changed, or a receive buffer read or changed, while the transfer was under way.", "MPI_Isend(x); x[0] = 1; MPI_Wait(...);", "Wait first, or work on a copy."},
{"B002", "buffers-overlap", E, "Two pending operations use overlapping memory and one of them writes.",
 "The result depends on which finishes first.", "MPI_Irecv(x, 4); MPI_Irecv(x + 2, 4);", "Give each pending operation its own memory."},
{"B003", "window-race", E, "Two accesses to the same place of a window are not ordered and one of them writes.",
 "Put, Get and local accesses in one epoch may happen in any order.", "rank 0: Put to 2; rank 1: Put to 2, same place, same epoch", "Separate them by a synchronisation, or use Accumulate."},
{"B004", "outside-epoch", E, "A window was accessed outside an access epoch.",
 "No fence, lock or start is open for the target.", "MPI_Put before the first MPI_Win_fence", "Open an epoch first."},
{"B005", "epoch-order", E, "An epoch was opened twice or closed without being open.",
 "Calls that open and close epochs do not pair up.", "MPI_Win_lock twice for one target", "Pair the calls."},
{"G001", "gradient-mismatch", E, "The gradient the program computed is not the derivative of its objective.",
 "Finite differences (or the dot-product identity) disagree with the computed gradient by more than their own error estimate. The objective is the sum over ranks of the local objectives, every rank's copy being a variable of its own. The first wrong adjoint is named where it could be found.",
 "an allreduce whose adjoint is the identity: the gradient is too small by the factor P",
 "Look at the first wrong adjoint, at joins that are missing, and at replicated values that were not declared as such."},
{"G002", "dead-communication", W, "A communication node is pruned from the backward pass on some rank.",
 "Nothing that reaches the loss uses its result there, so its adjoint never runs on that rank while partners may wait for it.",
 "naive ring: the received value is unused, so its adjoint send is pruned", "Join the handle or the result into something that reaches the loss, or use program order."},
{"G003", "activity-divergence", E, "Ranks disagree whether an operation needs a gradient.",
 "On some ranks the input requires a gradient, on others not, so that only some ranks run the adjoint.", "Allreduce of x where only rank 0 marked x as input", "Mark the tensor on all ranks or on none."},
{"G004", "orphan-message", W, "A message of the backward pass is never received.",
 "An adjoint sent a cotangent that nobody takes; under eager sends nothing hangs, and a gradient is missing.", "rank 0 ignores what it sent; rank 1 sends the adjoint back", "Make both sides of the pair part of the backward pass."},
{"G005", "invariant-violated", E, "A side condition of an operation does not hold.",
 "The reduce with identity adjoint (Megatron's g) is right only if its cotangents are equal on all ranks and the loss is declared replicated.", "g under a loss that differs between ranks", "Use the allreduce with the allreduce adjoint, or declare the replicated loss."},
{"G006", "non-finite", E, "A value or a gradient is NaN or infinite.",
 "The first operation that produced it is named.", "log(0) on one rank spreads through an allreduce", "Look at the inputs of the named operation."},
{"G007", "non-deterministic-gradient", E, "Repeating the run gives another gradient.",
 "The difference is larger than another order of summation explains: something depends on timing.", "a wildcard receive recomputed in the backward pass", "Look for message races and for uninitialised values."},
{"G008", "saved-value-changed", E, "A value saved for the backward pass was changed before it was used.",
 "The adjoint would use the new value and give a wrong gradient.", "x is saved by mul, then overwritten by a receive", "Keep a copy, or do not overwrite."},
{"L001", "leaked-request", W, "A request was never completed or freed.", "Its operation was started, the program ended without waiting for it.", "MPI_Isend without MPI_Wait", "Wait for it, or free it on purpose."},
{"L002", "message-never-received", W, "A message was sent and never received.", "The send completed because it was buffered; no receive matches it.", "Send twice, Recv once", "Receive it, or do not send it."},
{"L003", "leaked-communicator", W, "A communicator was never freed.", "Created by the program and alive at finalize.", "MPI_Comm_dup without MPI_Comm_free", "Free it."},
{"L004", "leaked-group", W, "A group was never freed.", "Created by the program and alive at finalize.", "MPI_Comm_group without MPI_Group_free", "Free it."},
{"L005", "leaked-datatype", W, "A datatype was never freed.", "Created by the program and alive at finalize.", "MPI_Type_vector without MPI_Type_free", "Free it."},
{"L006", "leaked-op", W, "A reduction operation was never freed.", "Created by the program and alive at finalize.", "MPI_Op_create without MPI_Op_free", "Free it."},
{"L007", "leaked-window", W, "A window or an attached buffer was never released.", "Created by the program and alive at finalize.", "MPI_Win_create without MPI_Win_free", "Free it."},
{"L008", "missing-wait", E, "A result is used although its operation was never waited for.", "Only the completion of the request makes the buffer valid.", "MPI_Irecv(x); use(x);", "Wait before the use."},
{"L009", "wait-on-inactive", N, "A wait on a null or inactive request.", "It returns at once, which is legal and often hides a request variable that was overwritten.", "MPI_Wait twice on one request", "Check that each started request is waited for once."},
{"L010", "double-start", E, "A persistent request was started while active.", "The earlier transfer was not completed.", "MPI_Start twice without MPI_Wait", "Complete it first."},
{"X001", "crash", E, "A rank was ended by a signal.", "The signal and the place are named; the others see a failed peer.", "a segmentation fault on rank 3", "Run with --gdb, or look at the named line."},
{"X002", "abort", E, "A rank ended with an error: MPI_Abort, abort(), or a non-zero exit code.", "The code the program gave is kept as data.", "MPI_Abort(MPI_COMM_WORLD, 7)", "Look at the rank that failed first; the others were stopped because of it."},
{"X003", "timeout", E, "No verdict within the time limit.", "The program was still running, or a rank kept the processor without calling MPI.", "a busy-wait on a global variable", "Give it more time (--timeout), or --os-threads for programs that wait without MPI calls."},
{"X004", "stack-overflow", E, "A rank ran over the end of its stack.", "The guard below the rank's stack was touched.", "a large automatic array, endless recursion", "Make it smaller, or raise --stack-size."},
{"X005", "communicator-freed", E, "A communicator was used after it was freed.", "The handle names nothing any more; the adjoint of an operation may need the communicator longer than the forward pass.", "MPI_Comm_free(&c) between forward and backward", "Free it after the backward pass; the differentiable layer keeps communicators it recorded."},
{"X006", "finalize-pending", E, "Finalize was called while operations were pending.", "A rank called MPI_Finalize with requests under way.", "MPI_Irecv; MPI_Finalize", "Complete or cancel them first."},
{"S001", "staleness", E, "A gradient older than the declared bound was applied.", "Version at apply minus version at read exceeds the bound T.", "asynchronous updates with more workers than the bound allows", "Lower the number of workers, wait for stragglers, or drop stale gradients."},
{"S002", "lost-update", E, "An update was sent and never applied.", "Sent does not equal applied plus in flight.", "two unordered read-modify-write cycles on one parameter", "Apply updates where the parameter lives, or order them."},
{"S003", "replicas-diverge", E, "Copies of a replicated value differ.", "After a step that must leave all replicas equal, they are not.", "one rank skipped an allreduce and used its own gradient", "Compare the steps of the first rank and parameter that are named."},
{"S004", "payload-damaged", E, "A coded gradient could not be decoded.", "The bytes that arrived are not what the coder wrote for this parameter: cut short, mixed up with another parameter's, or framed by a mark that occurs in them.", "a slot whose end is found by searching for a byte pattern", "Send the length with the bytes, and exchange every parameter in the same order on all ranks."},
};
/* clang-format on */

const struct finding_code *finding_code(const char *code)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcmp(codes[i].code, code) == 0)
            return &codes[i];
    return NULL;
}

const struct finding_code *finding_code_at(size_t index)
{
    return index < sizeof codes / sizeof *codes ? &codes[index] : NULL;
}
