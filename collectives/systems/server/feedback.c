/* Error feedback: what a coder loses of a gradient goes with the next one.
 *
 * A sparse or coarse gradient alone is biased: small values may never be sent. Each rank keeps, per
 * parameter, the difference between what it had to send and what the others decode. So the sum of
 * all that was sent and of what is kept is the sum of all gradients, up to the rounding of the
 * additions. What is not finite is sent as it is, and nothing of it kept: it would never leave. */
#include "collectives/systems/server/private.h"

#include <math.h>
#include <stdlib.h>

size_t feedback_encode(struct server *server, struct parameter *parameter, const double *gradient,
                       uint64_t seed, void *bytes)
{
    const struct server_coder *coder = &server->options.coder;
    size_t count = parameter->count;
    double *due = server_take(count, sizeof *due), *sent = server_take(count, sizeof *sent);
    for (size_t i = 0; i < count; i++)
        due[i] = gradient[i] + parameter->residual[i];
    size_t size = coder->encode(coder, due, count, seed, bytes);
    if (!coder->decode(coder, bytes, size, sent, count))
        server_fail("S004", "server %s: the coder %s cannot decode its own bytes of %s",
                    server->name, coder->name, parameter->name);
    for (size_t i = 0; i < count; i++) {
        double lost = due[i] - sent[i];
        parameter->residual[i] = isfinite(lost) ? lost : 0;
    }
    free(due);
    free(sent);
    return size;
}
