/* Delayed takers: see deferred.h. */
#include "sim/messages/deferred.h"

#include <assert.h>
#include <stdlib.h>

/* A rank blocked in a probe or a Waitany; lives on its stack. */
struct sim_blocked_probe {
    struct sim_blocked_probe *next;
    struct sim_rank *rank;
    uint32_t object, event;
    struct sim_context *context; /* probe */
    int owner, tag;
    struct sim_request **requests; /* Waitany */
    int count;
    const struct sim_timeout *patience; /* NULL: waits for ever */
    bool granted;
    struct sim_message *message;
    int index;
};

/* ---- what could be taken ---- */

struct option {
    struct sim_request *receive; /* NULL: a look */
    struct sim_blocked_probe *look;
    struct sim_message *message;
    int index;
};

struct options {
    struct option *items;
    struct sim_alternative *alternatives;
    size_t count, room;
};

static void add(struct options *options, struct option option, struct sim_alternative alternative)
{
    if (options->count == options->room) {
        options->room = options->room ? options->room * 2 : 16;
        options->items = realloc(options->items, options->room * sizeof *options->items);
        options->alternatives =
            realloc(options->alternatives, options->room * sizeof *options->alternatives);
        assert(options->items && options->alternatives && "out of memory for alternatives");
    }
    options->items[options->count] = option;
    options->alternatives[options->count++] = alternative;
}

static struct sim_alternative taking(const struct sim_message *message, enum sim_taker taker,
                                     const struct sim_rank *rank, uint32_t object, uint32_t box)
{
    return (struct sim_alternative){
        .rank = (uint32_t)rank->id,
        .object = object,
        .source = (uint32_t)sim_context_world_rank(message->context, message->source),
        .number = message->number,
        .taker = taker,
        .box = box};
}

static void add_receive(struct options *options, struct sim_request *receive)
{
    struct sim_candidates found = {0};
    sim_mailbox_collect(receive->context, receive->comm->rank, receive->tag, receive, &found);
    for (size_t i = 0; i < found.count; i++)
        add(options, (struct option){.receive = receive, .message = found.messages[i]},
            taking(found.messages[i], SIM_TAKER_RECEIVE, receive->owner, receive->number,
                   receive->context->id));
    free(found.messages);
}

static void add_probe(struct options *options, struct sim_blocked_probe *look)
{
    struct sim_candidates found = {0};
    sim_mailbox_collect(look->context, look->owner, look->tag, NULL, &found);
    for (size_t i = 0; i < found.count; i++)
        add(options, (struct option){.look = look, .message = found.messages[i]},
            taking(found.messages[i], SIM_TAKER_PROBE, look->rank, look->object,
                   look->context->id));
    free(found.messages);
}

static bool is_reportable(const struct sim_request *request)
{
    return request && request->state != SIM_INACTIVE && sim_request_done(request);
}

static void add_waitany(struct options *options, struct sim_blocked_probe *look)
{
    for (int i = 0; i < look->count; i++)
        if (is_reportable(look->requests[i]))
            add(options, (struct option){.look = look, .index = i},
                (struct sim_alternative){.rank = (uint32_t)look->rank->id,
                                         .object = look->object,
                                         .source = (uint32_t)i,
                                         .taker = SIM_TAKER_WAITANY});
}

/* ---- granting ---- */

static void look_end(struct sim_blocked_probe *look)
{
    struct sim_blocked_probe **link = &look->rank->world->looks;
    while (*link != look)
        link = &(*link)->next;
    *link = look->next;
}

static void grant_look(struct sim_world *world, const struct option *option)
{
    struct sim_blocked_probe *look = option->look;
    look_end(look);
    look->granted = true;
    look->message = option->message;
    look->index = option->index;
    sim_world_changed(world);
    sim_rank_wake(look->rank);
}

/* The choice is the last of the log: who takes, what led to it, and that it leads on. */
static void note_choice(struct sim_world *world, const struct option *option)
{
    struct sim_choice_log *log = &world->chooser.log;
    struct sim_choice *choice = &log->choices[log->count - 1];
    struct sim_dependences *taker =
        option->receive ? &option->receive->causes : &option->look->rank->causes;
    choice->past = *taker;
    choice->taker = option->receive ? option->receive->event : option->look->event;
    if (option->message)
        sim_dependences_join(&choice->past, &log->events[option->message->event].causes);
    else
        sim_dependences_join(&choice->past, &option->look->requests[option->index]->causes);
    if (option->look)
        sim_dependences_join(taker, &choice->past);
    sim_dependences_add(taker, log->count - 1);
}

static bool grant_one(struct sim_world *world)
{
    struct options options = {0};
    for (struct sim_request *receive = world->delayed; receive; receive = receive->delayed_next)
        add_receive(&options, receive);
    for (struct sim_blocked_probe *look = world->looks; look; look = look->next) {
        if (look->context)
            add_probe(&options, look);
        else
            add_waitany(&options, look);
    }
    bool goes = options.count > 0;
    if (goes) {
        uint32_t pick = sim_choose(&world->chooser, MPIX_CHOOSE_WILDCARD, UINT32_MAX,
                                   (uint32_t)options.count, options.alternatives);
        const struct option *option = &options.items[pick];
        if (world->chooser.stopped) {
            sim_world_stop(world, OUTCOME_INTERRUPTED);
            goes = false;
        } else {
            if (world->exploring)
                note_choice(world, option);
            if (option->receive)
                sim_mailbox_match_deferred(option->receive, option->message);
            else
                grant_look(world, option);
        }
    }
    free(options.items);
    free(options.alternatives);
    return goes;
}

/* A receive that nobody waits for yet makes nobody ready: then it is the next one's turn. */
bool sim_deferred_go(struct sim_world *world)
{
    bool goes;
    do
        goes = grant_one(world);
    while (goes && !world->runnable);
    return goes;
}

/* ---- takers ---- */

static uint32_t note_taker(const struct sim_rank *rank, const struct sim_context *context,
                           int owner, int tag, uint64_t order, uint32_t object)
{
    uint32_t at;
    struct sim_event *event = sim_log_event(&rank->world->chooser, &at);
    event->kind = SIM_EVENT_TAKER;
    event->rank = (uint32_t)rank->id;
    event->object = object;
    event->box = context->id;
    event->owner = owner;
    event->tag = tag;
    event->order = order;
    event->causes = rank->causes;
    return at;
}

void sim_deferred_post(struct sim_world *world, struct sim_request *receive)
{
    receive->delayed = true;
    receive->delayed_next = NULL;
    *world->delayed_tail = receive;
    world->delayed_tail = &receive->delayed_next;
    if (world->exploring)
        receive->event = note_taker(receive->owner, receive->context, receive->comm->rank,
                                    receive->tag, receive->order, receive->number);
}

void sim_deferred_forget(struct sim_world *world, struct sim_request *receive)
{
    struct sim_request **link = &world->delayed;
    while (*link != receive)
        link = &(*link)->delayed_next;
    *link = receive->delayed_next;
    if (world->delayed_tail == &receive->delayed_next)
        world->delayed_tail = link;
    receive->delayed = false;
}

static void look_until_granted(struct sim_blocked_probe *look)
{
    struct sim_world *world = look->rank->world;
    struct sim_blocked_probe **last = &world->looks;
    while (*last)
        last = &(*last)->next;
    *last = look;
    while (!look->granted && !(look->patience && look->patience->passed))
        sim_rank_block(look->rank);
    if (!look->granted)
        look_end(look);
}

struct sim_message *sim_deferred_probe(struct sim_rank *rank, struct sim_context *context,
                                       int owner, int tag, const struct sim_timeout *patience)
{
    struct sim_blocked_probe look = {.rank = rank,
                                     .object = rank->looks++,
                                     .context = context,
                                     .owner = owner,
                                     .tag = tag,
                                     .patience = patience};
    if (rank->world->exploring)
        look.event =
            note_taker(rank, context, owner, tag, context->mailboxes[owner].posts++, look.object);
    look_until_granted(&look);
    return look.message;
}

int sim_deferred_waitany(struct sim_rank *rank, struct sim_request **requests, int count)
{
    struct sim_blocked_probe look = {.rank = rank,
                                     .object = rank->looks++,
                                     .event = UINT32_MAX,
                                     .requests = requests,
                                     .count = count};
    for (int i = 0; i < count && rank->world->exploring; i++) {
        struct sim_request *request = requests[i];
        uint32_t at;
        if (!request || request->state == SIM_INACTIVE)
            continue;
        struct sim_event *item = sim_log_event(&rank->world->chooser, &at);
        item->kind = SIM_EVENT_ITEM;
        item->rank = (uint32_t)rank->id;
        item->object = look.object;
        item->number = (uint32_t)i;
        item->complete = sim_request_done(request);
        item->causes = request->causes;
        item->next = request->items ? request->items - 1 : UINT32_MAX;
        request->items = at + 1;
    }
    look_until_granted(&look);
    return look.index;
}

/* ---- what led to what ---- */

uint32_t sim_explore_sent(struct sim_context *context, int destination,
                          const struct sim_request *send, uint32_t number)
{
    uint32_t at;
    struct sim_event *event = sim_log_event(&context->world->chooser, &at);
    event->kind = SIM_EVENT_MESSAGE;
    event->rank = (uint32_t)send->owner->id;
    event->number = number;
    event->box = context->id;
    event->owner = destination;
    event->tag = send->tag;
    event->causes = send->causes;
    return at;
}

void sim_explore_met(struct sim_world *world, uint32_t event, struct sim_request *send,
                     struct sim_request *receive)
{
    struct sim_event *message = &world->chooser.log.events[event];
    sim_dependences_join(&receive->causes, &message->causes);
    if (!message->complete)
        message->order = receive->order;
    message->complete = true;
    if (send)
        sim_dependences_join(&send->causes, &receive->causes);
}

void sim_explore_completed(struct sim_request *request)
{
    struct sim_event *events = request->owner->world->chooser.log.events;
    for (uint32_t at = request->items; at; at = events[at - 1].next + 1) {
        events[at - 1].complete = true;
        events[at - 1].causes = request->causes;
    }
    request->items = 0;
}
