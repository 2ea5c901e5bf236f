/* The door of differentiable communication: diff.h, and what tools of automatic differentiation
 * include.
 *
 * Room: sees nothing. Seen by programs. */
#ifndef COLLECTIVES_COLLECTIVES_H
#define COLLECTIVES_COLLECTIVES_H

#endif
