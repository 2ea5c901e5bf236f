/* What led to what: see causes.h. */
#include "sim/messages/causes.h"

#include "sim/messages/request.h"

bool sim_causes_is_late(const struct sim_world *world, const struct sim_rank *rank, uint32_t number)
{
    const struct sim_world_options *options = &world->options;
    for (size_t i = 0; i < options->late_count; i++)
        if (options->late[i].rank == (uint32_t)rank->id && options->late[i].receive == number)
            return true;
    return false;
}

void sim_causes_forget(struct sim_world *world, struct sim_request *receive)
{
    struct sim_request **link = &world->delayed;
    while (*link != receive)
        link = &(*link)->delayed_next;
    *link = receive->delayed_next;
    if (world->delayed_tail == &receive->delayed_next)
        world->delayed_tail = link;
    receive->delayed = false;
}

uint32_t sim_causes_sent(struct sim_context *context, int destination,
                         const struct sim_request *send, uint32_t number)
{
    uint32_t at;
    struct sim_event *event = sim_log_event(&context->world->chooser, &at);
    send->owner->message_calls++;
    event->kind = SIM_EVENT_MESSAGE;
    event->rank = (uint32_t)send->owner->id;
    event->number = number;
    event->box = context->id;
    event->owner = destination;
    event->tag = send->tag;
    event->causes = send->causes;
    return at;
}

void sim_causes_met(struct sim_world *world, uint32_t event, struct sim_request *send,
                    struct sim_request *receive)
{
    struct sim_event *message = &world->chooser.log.events[event];
    sim_dependences_join(&receive->causes, &message->causes);
    receive->met = event + 1;
    if (!message->complete)
        message->order = receive->order;
    message->complete = true;
    if (send)
        sim_dependences_join(&send->causes, &receive->causes);
}

void sim_causes_completed(struct sim_request *request)
{
    struct sim_event *events = request->owner->world->chooser.log.events;
    for (uint32_t at = request->items; at; at = events[at - 1].next + 1) {
        events[at - 1].complete = true;
        events[at - 1].causes = request->causes;
    }
    request->items = 0;
}
