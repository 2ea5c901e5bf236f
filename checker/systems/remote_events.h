/* The protocol of remote calls and distributed autograd, as a trace shows it.
 *
 * The library (collectives/systems/rpc) records each step as a node named "rpc.NAME key=value ...".
 * Ids are "worker.counter"; c is a context, p a pass, m a message, w the number of a message
 * between two workers, h a hash of values. On each rank the nodes stand in the order of the steps.
 *
 *   worker n | context c mode | forget c | closed contexts | died | down peer
 *   send c m to n h what | path c m f (FAST: receive function f is in the history of send m) |
 *   path c p f (of the roots of p) | recv c m from n h | refuse c
 *   out to w kind [lost] | in from w kind
 *   pass-begin c p mode retain | pass-end c p ok | contact c p from | count c p m
 *   queue c p m w
 *   grad-out c p m to h | grad-in c p m h | answered c p | answer c p to | idle c p | over c p to
 * ok run c p v kind f deps arrived | leaf c p leaf before after | fail c p | rollback c p release c
 * | release-done c ok */
#ifndef CHECKER_SYSTEMS_REMOTE_EVENTS_H
#define CHECKER_SYSTEMS_REMOTE_EVENTS_H

#include "checker/context.h"

#define REMOTE_KINDS(X)                                                                            \
    X(WORKER, "worker")                                                                            \
    X(CONTEXT, "context")                                                                          \
    X(FORGET, "forget")                                                                            \
    X(CLOSED, "closed")                                                                            \
    X(DIED, "died")                                                                                \
    X(DOWN, "down")                                                                                \
    X(SEND, "send")                                                                                \
    X(PATH, "path")                                                                                \
    X(RECV, "recv")                                                                                \
    X(REFUSE, "refuse")                                                                            \
    X(OUT, "out")                                                                                  \
    X(IN, "in")                                                                                    \
    X(PASS_BEGIN, "pass-begin")                                                                    \
    X(PASS_END, "pass-end")                                                                        \
    X(CONTACT, "contact")                                                                          \
    X(COUNT, "count")                                                                              \
    X(QUEUE, "queue")                                                                              \
    X(GRAD_OUT, "grad-out")                                                                        \
    X(GRAD_IN, "grad-in")                                                                          \
    X(ANSWERED, "answered")                                                                        \
    X(ANSWER, "answer")                                                                            \
    X(IDLE, "idle")                                                                                \
    X(OVER, "over")                                                                                \
    X(RUN, "run")                                                                                  \
    X(LEAF, "leaf")                                                                                \
    X(FAIL, "fail")                                                                                \
    X(ROLLBACK, "rollback")                                                                        \
    X(RELEASE, "release")                                                                          \
    X(RELEASE_DONE, "release-done")                                                                \
    X(RETRY, "retry")
enum remote_kind {
#define X(enumerator, name) REMOTE_##enumerator,
    REMOTE_KINDS(X)
#undef X
        REMOTE_KIND_COUNT
};

struct remote_event {
    uint32_t node, rank;
    enum remote_kind kind;
    uint64_t context, pass, message;
    int peer;              /* to, from; -1 */
    uint64_t number;       /* w, v, leaf */
    uint64_t before, hash; /* leaf: before, after; else h; run, path: f */
    unsigned dependencies, arrived;
    bool flag; /* ok, retain, lost */
};

struct remote_trace {
    const struct trace *trace;
    struct remote_event *events; /* by rank, in the order of the steps */
    size_t count, room;
    size_t *begin; /* per rank, ranks + 1 */
    bool faulty;   /* somebody died, or a message was lost */
};

/* False when the program made no remote calls. */
bool remote_read(struct remote_trace *remote, const struct trace *trace);
void remote_release(struct remote_trace *remote);
enum { REMOTE_ID_TEXT = 32 };
/* "0.3" */
const char *remote_id(uint64_t id, char text[REMOTE_ID_TEXT]);
/* "the call of weigh on worker 1 at file.c:12", for a send event. */
const char *remote_send_text(const struct remote_trace *remote, const struct remote_event *send,
                             char *text, size_t size);

#endif
