/* Pictures of ranks as lanes: graphs for Graphviz, neighbourhoods of findings.
 *
 * Room: sees viz/paper; checker, traces. Seen by viz/report; cli. */
#ifndef VIZ_LANES_LANES_H
#define VIZ_LANES_LANES_H

#endif
