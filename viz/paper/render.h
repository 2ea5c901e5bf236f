/* DOT to SVG or PNG: runs Graphviz as a child under a time limit, without a shell.
 *
 * Graphviz is optional: where it is absent or does not finish, the DOT text is kept and the failure
 * says so. */
#ifndef VIZ_PAPER_RENDER_H
#define VIZ_PAPER_RENDER_H

#include "traces/base/failure.h"

#include <stdbool.h>
#include <stddef.h>

/* Renders `dot` (of `size` bytes) to `path` in `format` ("svg" or "png"). `seconds` is the limit.
 * On failure the text is written beside it, at `path` with ".dot" in place of the format's suffix,
 * no file is left at `path`, and the sentence names both the reason and the DOT file. */
bool viz_render(const char *dot, size_t size, const char *format, const char *path,
                unsigned seconds, struct failure *failure);

#endif
