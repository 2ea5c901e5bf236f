/* What all pictures are drawn on: SVG, colours, escaping, Graphviz as a process.
 *
 * Room: sees traces. Seen by viz/charts, viz/lanes, viz/report; cli. */
#ifndef VIZ_PAPER_PAPER_H
#define VIZ_PAPER_PAPER_H

#endif
