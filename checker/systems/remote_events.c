/* Reading the steps of remote calls out of a trace: see remote.h. */
#include "checker/systems/remote_events.h"
#include "checker/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[REMOTE_KIND_COUNT] = {
#define X(enumerator, name) name,
    REMOTE_KINDS(X)
#undef X
};

/* The value behind " key=", NULL when there is none. */
static const char *value_of(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = text; (at = strchr(at, ' ')); at++)
        if (strncmp(at + 1, key, length) == 0 && at[1 + length] == '=')
            return at + 2 + length;
    return NULL;
}

static uint64_t id_of(const char *text, const char *key)
{
    const char *value = value_of(text, key);
    char *end;
    if (!value)
        return 0;
    uint64_t worker = strtoull(value, &end, 10);
    return *end == '.' ? worker << 48 | strtoull(end + 1, NULL, 10) : 0;
}

static uint64_t integer_of(const char *text, const char *key, int base)
{
    const char *value = value_of(text, key);
    return value ? strtoull(value, NULL, base) : 0;
}

static int peer_of(const char *text)
{
    static const char *const keys[] = {"to", "from", "peer"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *value = value_of(text, keys[i]);
        if (value)
            return (int)strtol(value, NULL, 10);
    }
    return -1;
}

static int kind_of(const char *text)
{
    size_t length = strcspn(text, " ");
    for (int i = 0; i < REMOTE_KIND_COUNT; i++)
        if (strlen(kind_names[i]) == length && strncmp(kind_names[i], text, length) == 0)
            return i;
    return -1;
}

static void event_read(struct remote_trace *remote, uint32_t node, const char *text)
{
    int kind = kind_of(text);
    if (kind < 0)
        return;
    struct remote_event event = {.node = node,
                                 .rank = remote->trace->nodes[node].rank,
                                 .kind = (enum remote_kind)kind,
                                 .context = id_of(text, "c"),
                                 .pass = id_of(text, "p"),
                                 .message = id_of(text, "m"),
                                 .peer = peer_of(text)};
    event.number = kind == REMOTE_LEAF  ? integer_of(text, "leaf", 16)
                   : kind == REMOTE_RUN ? integer_of(text, "v", 10)
                                        : integer_of(text, "w", 10);
    event.before = integer_of(text, kind == REMOTE_RUN ? "kind" : "before", 16);
    event.hash = kind == REMOTE_RUN || kind == REMOTE_PATH
                     ? id_of(text, "f")
                     : integer_of(text, kind == REMOTE_LEAF ? "after" : "h", 16);
    event.dependencies = (unsigned)integer_of(text, "deps", 10);
    event.arrived = (unsigned)integer_of(text, "arrived", 10);
    event.flag = integer_of(text, "ok", 10) || integer_of(text, "retain", 10) ||
                 integer_of(text, "lost", 10);
    remote->faulty = remote->faulty || kind == REMOTE_DIED || kind == REMOTE_RETRY ||
                     (kind == REMOTE_OUT && event.flag);
    remote->events =
        check_grow(remote->events, &remote->room, remote->count + 1, sizeof *remote->events);
    remote->events[remote->count++] = event;
}

bool remote_read(struct remote_trace *remote, const struct trace *trace)
{
    *remote = (struct remote_trace){.trace = trace};
    remote->begin = check_new(trace->ranks + 1, sizeof *remote->begin);
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        remote->begin[rank] = remote->count;
        for (size_t i = trace->node_begin[rank]; i < trace->node_begin[rank + 1]; i++) {
            const char *name = trace_string(trace, trace->nodes[i].name);
            if (strncmp(name, "rpc.", 4) == 0)
                event_read(remote, (uint32_t)i, name + 4);
        }
    }
    remote->begin[trace->ranks] = remote->count;
    return remote->count > 0;
}

void remote_release(struct remote_trace *remote)
{
    free(remote->events);
    free(remote->begin);
    *remote = (struct remote_trace){0};
}

const char *remote_id(uint64_t id, char text[REMOTE_ID_TEXT])
{
    snprintf(text, REMOTE_ID_TEXT, "%u.%llu", (unsigned)(id >> 48),
             (unsigned long long)(id & 0xffffffffffffu));
    return text;
}

const char *remote_send_text(const struct remote_trace *remote, const struct remote_event *send,
                             char *text, size_t size)
{
    const struct trace_node *node = &remote->trace->nodes[send->node];
    const char *what = value_of(trace_string(remote->trace, node->name), "what");
    char place[TRACE_SITE_TEXT];
    trace_at_text(remote->trace, node->site, place, sizeof place);
    if (what && strncmp(what, "answer-of-", 10) == 0)
        snprintf(text, size, "the answer of %s to worker %d%s", what + 10, send->peer, place);
    else if (what && strncmp(what, "gradient-of-", 12) == 0)
        snprintf(text, size, "the gradient for message %s to worker %d%s", what + 12, send->peer,
                 place);
    else
        snprintf(text, size, "the call%s%s on worker %d%s", what ? " of " : "", what ? what : "",
                 send->peer, place);
    return text;
}
