/* tcp_world.h: runs a function as every rank of a TCP channel, each in a process of its own.
 *
 * The parent hands the ports round and collects what every rank reports; a rank that dies is
 * reported as such. The timeout is only a net for what would hang. */
#ifndef TESTS_SYSTEMS_TCP_WORLD_H
#define TESTS_SYSTEMS_TCP_WORLD_H

#include <data_channel.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TCP_RANKS_MAX = 8, TCP_NET_MILLISECONDS = 30000, TCP_REPORT_ROOM = 300 };

/* What a rank has to say; "" when all was as it should be. */
struct tcp_report {
    int looked_at;
    char text[TCP_REPORT_ROOM];
};
typedef void tcp_body(struct data_channel *channel, struct tcp_report *report, void *context);

static inline bool tcp_all(int socket, void *bytes, size_t size, bool reads)
{
    for (size_t at = 0; at < size;) {
        char *to = (char *)bytes + at;
        ssize_t moved = reads ? read(socket, to, size - at) : write(socket, to, size - at);
        if (moved <= 0)
            return false;
        at += (size_t)moved;
    }
    return true;
}

/* A rank's line to the parent, for bodies that end before their time. */
static int tcp_parent = -1;

static inline void tcp_say(const struct tcp_report *report)
{
    struct tcp_report copy = *report;
    tcp_all(tcp_parent, &copy, sizeof copy, false);
}

struct tcp_rank {
    int socket, size, number;
};

/* What rank 1 does between learning the ports and calling the others; NULL: nothing. */
static void (*tcp_mischief)(const int *ports);

static bool tcp_exchange(void *context, int mine, int *all)
{
    const struct tcp_rank *rank = context;
    bool good = tcp_all(rank->socket, &mine, sizeof mine, false) &&
                tcp_all(rank->socket, all, (size_t)rank->size * sizeof *all, true);
    if (good && tcp_mischief && rank->number == 1)
        tcp_mischief(all);
    return good;
}

/* `timeout`: of rank 0; the others are patient. A body that frees the channel itself, or dies, is
 * no concern of this.
 */
static inline void tcp_rank_main(int number, struct tcp_rank rank, int timeout, tcp_body *body,
                                 void *context)
{
    struct tcp_report report = {0};
    tcp_parent = rank.socket;
    struct data_tcp_options options = {.rank = number,
                                       .size = rank.size,
                                       .timeout_milliseconds =
                                           number == 0 ? timeout : TCP_NET_MILLISECONDS,
                                       .exchange = tcp_exchange,
                                       .context = &rank};
    struct data_channel *channel = data_channel_tcp(&options, report.text, sizeof report.text);
    if (channel)
        body(channel, &report, context);
    data_channel_free(channel);
    tcp_say(&report);
    _exit(0);
}

/* True when every rank looked at something and found nothing; `text` gets the first trouble. */
static inline bool tcp_world(int size, int timeout, tcp_body *body, void *context, char *text,
                             size_t room)
{
    int sockets[TCP_RANKS_MAX], ports[TCP_RANKS_MAX] = {0};
    pid_t children[TCP_RANKS_MAX];
    fflush(stdout);
    for (int i = 0; i < size; i++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
            abort();
        children[i] = fork();
        if (children[i] == 0) {
            for (int k = 0; k < i; k++)
                close(sockets[k]);
            close(pair[0]);
            tcp_rank_main(i, (struct tcp_rank){pair[1], size, i}, timeout, body, context);
        }
        close(pair[1]);
        sockets[i] = pair[0];
    }
    bool right = true;
    for (int i = 0; i < size; i++)
        tcp_all(sockets[i], &ports[i], sizeof ports[i], true);
    for (int i = 0; i < size; i++)
        tcp_all(sockets[i], ports, (size_t)size * sizeof *ports, false);
    for (int i = 0; i < size; i++) {
        struct tcp_report report = {0};
        bool came = tcp_all(sockets[i], &report, sizeof report, true);
        if (right && (!came || report.text[0] || !report.looked_at)) {
            snprintf(text, room, "size %d, rank %d: %s", size, i,
                     !came            ? "died"
                     : report.text[0] ? report.text
                                      : "nothing was looked at");
            right = false;
        }
        close(sockets[i]);
        waitpid(children[i], NULL, 0);
    }
    return right;
}

#endif
