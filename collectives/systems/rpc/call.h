/* A call being handled. */
#ifndef COLLECTIVES_SYSTEMS_RPC_CALL_H
#define COLLECTIVES_SYSTEMS_RPC_CALL_H

#include "collectives/systems/rpc/context.h"

struct rpc_call {
    struct rpc_worker *worker;
    int from;
    uint64_t request, context;
    uint64_t keep; /* 0, or the reference under which the results stay here */
    char name[80];
    bool answered, deferred, kept;
    struct diff_tensor **arguments;
    size_t argument_count;
    unsigned char *bytes;
    size_t size;
    struct rpc_reference **references;
    size_t reference_count;
};

struct rpc_future *call_start(struct rpc_worker *worker, int to, const char *name, uint64_t keep,
                              const struct rpc_arguments *arguments);
/* Puts the results of a call under a reference. */
void reference_keep(struct rpc_worker *worker, uint64_t id, size_t count,
                    struct diff_tensor *const *tensors);
void reference_keep_error(struct rpc_worker *worker, uint64_t id, const char *error);

#endif
