/* Ground floor of everything: failures with one sentence, whole files, hashes of names, progress.
 *
 * Room: sees nothing. Seen by traces/formats, traces/input, traces/store, traces/trace;
 * checker, cli, recorder, sim, verdict, viz. */
#ifndef TRACES_BASE_BASE_H
#define TRACES_BASE_BASE_H

#endif
