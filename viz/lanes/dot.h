/* A laid-out scene as DOT text for `neato -n2`: every position is ours, Graphviz draws. */
#ifndef VIZ_LANES_DOT_H
#define VIZ_LANES_DOT_H

#include "viz/lanes/scene.h"

#include <stdio.h>

/* Cannot fail but through `file`, whose error indicator is the caller's to look at. */
void dot_write(FILE *file, const struct scene *scene);

#endif
