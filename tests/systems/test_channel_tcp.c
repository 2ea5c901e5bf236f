/* Data channels over TCP, between processes: every question of the conformance suite, and what only
 * processes can do: end, keep silent, disagree. */
#include "tests/systems/channel_conformance.h"
#include "tests/systems/tcp_world.h"
#include "tests/tap.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static void ask(struct data_channel *channel, struct tcp_report *report, void *context)
{
    struct channel_report answers = {0};
    channel_ask(context, channel, &answers);
    report->looked_at = answers.looked_at;
    if (answers.failed)
        snprintf(report->text, sizeof report->text, "%.290s", answers.text);
}

static void suite(void)
{
    static const int sizes[] = {1, 2, 3, 5};
    for (int q = 0; q < CHANNEL_QUESTIONS; q++) {
        char text[400] = "all ranks content";
        struct channel_question question = channel_questions[q];
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            if (!tcp_world(sizes[i], TCP_NET_MILLISECONDS, ask, &question, text, sizeof text))
                break;
        tap_is_str(text, "all ranks content", "%s", question.name);
    }
}

/* ---- faults ---- */

struct fault {
    const char *name;
    int size;
    tcp_body *body;
};

/* The operation fails, and its error has these words. */
static void refused(struct data_channel *channel, struct tcp_report *report, bool done,
                    const char *words)
{
    const char *error = data_channel_error(channel);
    report->looked_at++;
    if (done || !strstr(error, words))
        snprintf(report->text, sizeof report->text, "wanted \"%s\", got \"%s\"", words,
                 done ? "no error" : error);
}

static void passed(struct data_channel *channel, struct tcp_report *report, bool done)
{
    report->looked_at++;
    if (!done)
        snprintf(report->text, sizeof report->text, "%s", data_channel_error(channel));
}

/* Rank 1 leaves; who waits for it hears of it, who has a message of it still gets that. */
static void peer_leaves(struct data_channel *channel, struct tcp_report *report, void *context)
{
    struct data_group *world = data_channel_world(channel);
    int rank = data_group_rank(world), value = 42, got = 0;
    (void)context;
    if (rank == 1) {
        for (int to = 0; to < 3; to += 2)
            passed(channel, report, data_group_send(world, &value, 1, DATA_INT, to, 1));
        return;
    }
    passed(channel, report, data_group_receive(world, &got, 1, DATA_INT, 1, 1, NULL));
    report->looked_at += got == 42;
    refused(channel, report, data_group_receive(world, &got, 1, DATA_INT, 1, 1, NULL),
            "receive: rank 1 closed the connection");
    refused(channel, report, data_group_send(world, &value, 1, DATA_INT, 1, 1),
            "send: rank 1 closed the connection");
    refused(channel, report, data_group_barrier(world), "barrier: rank 1 closed the connection");
    /* The others go on. */
    struct data_request *request;
    int other = 2 - rank;
    passed(channel, report, data_group_isend(world, &rank, 1, DATA_INT, other, 2, &request));
    passed(channel, report, data_group_receive(world, &got, 1, DATA_INT, DATA_ANY, 2, NULL));
    passed(channel, report, data_request_wait(request, NULL));
    if (got != other)
        snprintf(report->text, sizeof report->text, "got %d from rank %d", got, other);
}

static void everybody_leaves(struct data_channel *channel, struct tcp_report *report, void *context)
{
    struct data_group *world = data_channel_world(channel);
    int got;
    (void)context;
    report->looked_at++;
    if (data_group_rank(world) == 0)
        refused(channel, report, data_group_receive(world, &got, 1, DATA_INT, DATA_ANY, 1, NULL),
                "receive: every other rank is gone");
}

/* Rank 1 says nothing until rank 0 has given up and leaves. */
static void peer_is_silent(struct data_channel *channel, struct tcp_report *report, void *context)
{
    struct data_group *world = data_channel_world(channel);
    const int *timeout = context;
    int got;
    int other = 1 - data_group_rank(world);
    char silent[100];
    snprintf(silent, sizeof silent, "receive: nothing from rank 1 for %d ms", *timeout);
    refused(channel, report, data_group_receive(world, &got, 1, DATA_INT, other, 1, NULL),
            other == 1 ? silent : "receive: rank 0 closed the connection");
}

static void other_collective(struct data_channel *channel, struct tcp_report *report, void *context)
{
    struct data_group *world = data_channel_world(channel);
    double in[2] = {1, 2}, out[2];
    (void)context;
    report->looked_at++;
    passed(channel, report, data_group_barrier(world));
    if (data_group_rank(world) == 0)
        refused(channel, report, data_group_all_reduce(world, in, out, 2, DATA_DOUBLE, DATA_SUM),
                "all_reduce, number 2 of this group: rank 1 is in broadcast, number 2");
    else
        passed(channel, report, data_group_broadcast(world, in, 2, DATA_DOUBLE, 1));
}

static void other_counts(struct data_channel *channel, struct tcp_report *report, void *context)
{
    struct data_group *world = data_channel_world(channel);
    double in[3] = {1, 2, 3}, out[3];
    size_t count = data_group_rank(world) == 0 ? 2 : 3;
    (void)context;
    report->looked_at++;
    bool done = data_group_reduce(world, in, out, count, DATA_DOUBLE, DATA_SUM, 0);
    if (data_group_rank(world) == 0)
        refused(channel, report, done,
                "reduce: rank 1 sends 24 bytes, and 16 are expected: counts or types differ");
}

static void other_type(struct data_channel *channel, struct tcp_report *report, void *context)
{
    struct data_group *world = data_channel_world(channel);
    float single[2] = {1, 2};
    double out[2];
    (void)context;
    if (data_group_rank(world) == 1) {
        passed(channel, report, data_group_send(world, single, 2, DATA_FLOAT, 0, 0));
        passed(channel, report, data_group_send(world, single, 2, DATA_FLOAT, 0, 0));
        return;
    }
    refused(channel, report, data_group_receive(world, out, 2, DATA_DOUBLE, 1, 0, NULL),
            "receive: rank 1 sends float values, and double values are expected");
    refused(channel, report, data_group_receive(world, out, 1, DATA_FLOAT, 1, 0, NULL),
            "receive: rank 1 sends 2 values, and there is room for 1");
}

static void other_groups(struct data_channel *channel, struct tcp_report *report, void *context)
{
    struct data_group *world = data_channel_world(channel), *group;
    int rank = data_group_rank(world);
    int lists[2][2] = {{0, 1}, {1, 2}};
    (void)context;
    refused(channel, report, data_group_new(world, 2, lists[rank == 2], &group),
            "makes another group than this rank");
}

/* Calls rank 0 three times before rank 1 does: with nothing to say, with too little, and with what
 * no rank would say. */
static void strangers(const int *ports)
{
    static const char nonsense[64] = "GET / HTTP/1.1";
    for (int i = 0; i < 3; i++) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)ports[0])};
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        int caller = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(caller, (struct sockaddr *)&address, sizeof address) != 0 ||
            write(caller, nonsense, (size_t)i * 10) != i * 10)
            abort();
        if (i < 2)
            close(caller); /* the last one stays on the line */
    }
}

static void strangers_are_sent_away(void)
{
    char text[400] = "all ranks content";
    struct channel_question question = channel_questions[0];
    tcp_mischief = strangers;
    tcp_world(3, TCP_NET_MILLISECONDS, ask, &question, text, sizeof text);
    tcp_mischief = NULL;
    tap_is_str(text, "all ranks content", "who calls and is no rank is sent away");
}

/* The limit is one on the making of connections, too: on a busy machine the first may be too short
 * for that. */
static void silence_is_named(void)
{
    char text[400];
    bool right = false;
    for (int timeout = 50; !right && timeout <= 50 * 20 * 20; timeout *= 20) {
        snprintf(text, sizeof text, "all ranks content");
        right = tcp_world(2, timeout, peer_is_silent, &timeout, text, sizeof text);
    }
    tap_is_str(text, "all ranks content", "a rank that keeps silent is named");
}

static const struct fault faults[] = {
    {"who waits for a rank that has left hears its name, after all it has sent", 3, peer_leaves},
    {"a receive from any source ends when everybody has left", 3, everybody_leaves},
    {"ranks in different collectives are told so", 2, other_collective},
    {"ranks with different counts are told so", 2, other_counts},
    {"messages of another type, and too long ones, are refused", 2, other_type},
    {"ranks that make different groups are told so", 3, other_groups},
};

int main(void)
{
    suite();
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const struct fault *fault = &faults[i];
        char text[400] = "all ranks content";
        tcp_world(fault->size, TCP_NET_MILLISECONDS, fault->body, NULL, text, sizeof text);
        tap_is_str(text, "all ranks content", "%s", fault->name);
    }
    silence_is_named();
    strangers_are_sent_away();
    return tap_done();
}
