/* Plots over axes: errors over steps, convergence, time lines, schedules.
 *
 * Room: sees viz/paper; traces. Seen by viz/report; cli. */
#ifndef VIZ_CHARTS_CHARTS_H
#define VIZ_CHARTS_CHARTS_H

#endif
