/* A laid-out scene as inline SVG, for the report: no Graphviz, and colours that follow the page. */
#ifndef VIZ_LANES_DRAW_H
#define VIZ_LANES_DRAW_H

#include "viz/lanes/scene.h"

#include <stdio.h>

void draw_write(FILE *file, const struct scene *scene);

#endif
