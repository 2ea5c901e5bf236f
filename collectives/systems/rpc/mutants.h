/* Rules of the library that rpc_break() breaks, one for each invariant (checker/systems/remote.c).
 */
#ifndef COLLECTIVES_SYSTEMS_RPC_MUTANTS_H
#define COLLECTIVES_SYSTEMS_RPC_MUTANTS_H

#define RPC_MUTANTS(X)                                                                             \
    X(NONE, "none", "nothing is broken")                                                           \
    X(RECV_TWICE, "recv-twice", "a receive function is recorded twice")                            \
    X(GRADIENT_TWICE, "gradient-twice", "a receive function sends its gradient twice")             \
    X(EARLY_NODE, "early-node", "a node runs at its first arrival")                                \
    X(IDLE_TWICE, "idle-twice", "a worker says twice that its graph is done")                      \
    X(ACK_EARLY, "ack-early", "first contact is answered at once")                                 \
    X(ROOT_EARLY, "root-early", "the root returns when its own graph is done")                     \
    X(VALUE_CHANGED, "value-changed", "one bit of a tensor changes on the way")                    \
    X(GRADIENT_SIGN, "gradient-sign", "a gradient is sent with the wrong sign")                    \
    X(TANGENT_LOST, "tangent-lost", "tangents that arrive are forgotten")                          \
    X(CONTEXTS_MIXED, "contexts-mixed", "a leaf's gradient goes to the worker's first context")    \
    X(RELEASED_AGAIN, "released-again", "a released function runs a second time")                  \
    X(AFTER_ERROR, "after-error", "leaves still accumulate after an error")                        \
    X(RELEASE_LOCAL, "release-local", "a release is not passed on")                                \
    X(ID_REUSED, "id-reused", "message numbers start again in every context")                      \
    X(ORDER_MATTERS, "order-matters", "of two gradients for one value the last one counts twice")

enum rpc_mutant {
#define X(enumerator, name, text) RPC_MUTANT_##enumerator,
    RPC_MUTANTS(X)
#undef X
        RPC_MUTANT_COUNT
};

#endif
