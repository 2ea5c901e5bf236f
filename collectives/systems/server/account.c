/* What the checks S001, S002 and S003 read: metrics of the rank that knows. Points have the number
 * of an update as step and a version as value.
 *
 *   server/NAME bound             (no step) T
 *   server/NAME sent              the version an update of this rank was made from
 *   server/NAME applied from W    the version before an update of world rank W was added
 *   server/NAME written from W    the same, when it replaced the parameters instead
 *   server/NAME dropped from W    it was left out on purpose
 *   server/NAME closed            (no step) nothing more will be applied
 *   replica/NAME/P                (no step) 53 bits of a hash over the values, once per step
 *
 * The operation that sends an update carries the identity "server/NAME sent", so that a finding can
 * name it. */
#include <server.h>

#include "recorder/recorder.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME = 160 };

static void note(double step, double value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void note(double step, double value, const char *format, ...)
{
    char name[NAME];
    va_list arguments;
    if (!record_active())
        return;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    record_metric_at(name, step, value);
}

void server_note_bound(const char *server, uint64_t versions)
{
    note(NAN, (double)versions, "server/%s bound", server);
}

void server_note_sent(const char *server, uint64_t sequence, uint64_t version)
{
    char name[NAME];
    note((double)sequence, (double)version, "server/%s sent", server);
    snprintf(name, sizeof name, "server/%s sent", server);
    record_identity(name);
}

void server_note_applied(const char *server, int worker, uint64_t sequence, uint64_t version)
{
    note((double)sequence, (double)version, "server/%s applied from %d", server, worker);
}

void server_note_written(const char *server, int worker, uint64_t sequence, uint64_t version)
{
    note((double)sequence, (double)version, "server/%s written from %d", server, worker);
}

void server_note_dropped(const char *server, int worker, uint64_t sequence)
{
    note((double)sequence, (double)sequence, "server/%s dropped from %d", server, worker);
}

void server_note_closed(const char *server)
{
    note(NAN, 1, "server/%s closed", server);
}

void server_note_replica(const char *server, const char *parameter, const double *values,
                         size_t count)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        hash = (hash ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    char name[NAME];
    snprintf(name, sizeof name, "replica/%s/%s", server, parameter);
    record_metric(name, (double)(hash >> 11), "hash");
}
