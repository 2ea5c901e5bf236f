/* Trace files: a reader and a writer for each format; format.c recognises which it is.
 *
 * Room: sees traces/base, traces/input, traces/trace. Seen by cli, collectives, recorder. */
#ifndef TRACES_FORMATS_FORMATS_H
#define TRACES_FORMATS_FORMATS_H

#endif
