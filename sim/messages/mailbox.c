/* Matching of messages and receives: see mailbox.h for the rules. */
#include "sim/messages/mailbox.h"

#include "recorder/recorder.h"
#include "sim/messages/batch.h"
#include "sim/messages/bsend.h"
#include "sim/messages/causes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- channels ---- */

static struct sim_channel *channel_probe(struct sim_channel *channels, uint32_t mask, int source)
{
    uint32_t at = (uint32_t)source * SIM_CHANNEL_FACTOR & mask;
    while (channels[at].source != source && channels[at].source != -1)
        at = (at + 1) & mask;
    return &channels[at];
}

static void channels_grow(struct sim_mailbox *mailbox)
{
    uint32_t size = mailbox->channels ? (mailbox->mask + 1) * 2 : 4;
    struct sim_channel *bigger = malloc(size * sizeof *bigger);
    assert(bigger && "out of memory for message channels");
    for (uint32_t i = 0; i < size; i++)
        bigger[i] = (struct sim_channel){.source = -1};
    if (!mailbox->channels) {
        *channel_probe(bigger, size - 1, mailbox->one.source) = mailbox->one;
    } else {
        for (uint32_t i = 0; i <= mailbox->mask; i++)
            if (mailbox->channels[i].source != -1)
                *channel_probe(bigger, size - 1, mailbox->channels[i].source) =
                    mailbox->channels[i];
    }
    free(mailbox->channels);
    mailbox->channels = bigger;
    mailbox->mask = size - 1;
}

/* The channel of a source, made when it is new. Valid until the next call. */
static struct sim_channel *channel_of(struct sim_mailbox *mailbox, int source)
{
    if (!mailbox->channels) {
        if (!mailbox->used) {
            mailbox->one = (struct sim_channel){.source = source};
            mailbox->used = 1;
        }
        if (mailbox->one.source == source)
            return &mailbox->one;
        channels_grow(mailbox);
    }
    struct sim_channel *channel = channel_probe(mailbox->channels, mailbox->mask, source);
    if (channel->source == source)
        return channel;
    if (++mailbox->used * 4 > (mailbox->mask + 1) * 3) {
        channels_grow(mailbox);
        channel = channel_probe(mailbox->channels, mailbox->mask, source);
    }
    *channel = (struct sim_channel){.source = source};
    return channel;
}

/* ---- queues ---- */

static bool tag_fits(int posted, int tag)
{
    return posted == tag || posted == MPI_ANY_TAG;
}

static void posted_append(struct sim_request **first, struct sim_request **last,
                          struct sim_request *receive)
{
    receive->next = NULL;
    if (*first)
        (*last)->next = receive;
    else
        *first = receive;
    *last = receive;
}

static bool posted_remove(struct sim_request **first, struct sim_request **last,
                          struct sim_request *receive)
{
    struct sim_request *before = NULL;
    for (struct sim_request *at = *first; at; before = at, at = at->next) {
        if (at != receive)
            continue;
        if (before)
            before->next = at->next;
        else
            *first = at->next;
        if (*last == at)
            *last = before;
        return true;
    }
    return false;
}

static struct sim_request *posted_fitting(struct sim_request *first, int tag)
{
    while (first && !tag_fits(first->tag, tag))
        first = first->next;
    return first;
}

static void unpost(struct sim_mailbox *mailbox, struct sim_request *receive)
{
    bool found;
    if (receive->peer == MPI_ANY_SOURCE) {
        found = posted_remove(&mailbox->any_first, &mailbox->any_last, receive);
    } else {
        struct sim_channel *channel = channel_of(mailbox, receive->peer);
        found = posted_remove(&channel->posted_first, &channel->posted_last, receive);
    }
    assert(found);
    mailbox->posted--;
}

static void message_append(struct sim_mailbox *mailbox, struct sim_channel *channel,
                           struct sim_message *message)
{
    message->next = NULL;
    if (channel->first)
        channel->last->next = message;
    else
        channel->first = message;
    channel->last = message;
    message->later = NULL;
    message->earlier = mailbox->newest;
    message->arrival = mailbox->newest ? mailbox->newest->arrival + 1 : 0;
    if (mailbox->newest)
        mailbox->newest->later = message;
    else
        mailbox->oldest = message;
    mailbox->newest = message;
}

/* `before` is the one before it in its channel, NULL: it is the first. */
static inline void message_unlink(struct sim_mailbox *mailbox, struct sim_channel *channel,
                                  struct sim_message *message, struct sim_message *before)
{
    if (before)
        before->next = message->next;
    else
        channel->first = message->next;
    if (channel->last == message)
        channel->last = before;
    if (message->earlier)
        message->earlier->later = message->later;
    else
        mailbox->oldest = message->later;
    if (message->later)
        message->later->earlier = message->earlier;
    else
        mailbox->newest = message->earlier;
}

static void message_remove(struct sim_mailbox *mailbox, struct sim_message *message)
{
    struct sim_channel *channel = channel_of(mailbox, message->source);
    struct sim_message *before = NULL, *at = channel->first;
    while (at != message) {
        before = at;
        at = at->next;
    }
    message_unlink(mailbox, channel, message, before);
}

/* ---- moving data ---- */

void sim_message_deliver(struct sim_message *message, struct sim_request *receive)
{
    struct sim_world *world = receive->owner->world;
    struct sim_request *send = message->sender;
    if (world->exploring)
        sim_causes_met(world, message->event, send, receive);
    if (send) {
        send->message = NULL;
        sim_pool_put(world, message, message->block);
        if (world->options.send_model == SIM_SEND_BATCH && send->batch && receive->batch)
            sim_batch_matched(send, receive);
        else
            sim_request_transfer(send, receive);
        return;
    }
    if (message->buffered_by)
        sim_bsend_returned(message->buffered_by, message->bytes);
    sim_request_matched(receive, message->source, message->tag, message->bytes);
    if (receive->bytes && receive->type->contiguous)
        memcpy(receive->buffer, message->data, receive->bytes);
    else if (receive->bytes)
        sim_datatype_copy_in_range(receive->type, receive->buffer, 0, receive->bytes,
                                   message->data);
    sim_pool_put(world, message, message->block);
    sim_request_complete(receive);
}

/* A message of the communicator's rank, of so many bytes, with room for `payload` of them. */
static inline struct sim_message *message_new(const struct sim_comm *comm, int tag, size_t bytes,
                                              size_t payload)
{
    size_t block = sizeof(struct sim_message) + payload;
    struct sim_message *message = sim_pool_get(comm->owner->world, block);
    assert(message && "out of memory for a message");
    message->magic = 0;
    message->source = comm->rank;
    message->tag = tag;
    message->sender = NULL;
    message->context = comm->context;
    message->taken_by = NULL;
    message->buffered_by = NULL;
    message->bytes = bytes;
    message->block = block;
    return message;
}

/* Copies the data aside (buffered) or leaves them in the sender's buffer. */
static struct sim_message *message_of(struct sim_request *send, bool may_buffer)
{
    size_t bytes = send->type->size * send->count;
    struct sim_message *message = message_new(send->comm, send->tag, bytes, may_buffer ? bytes : 0);
    if (send->mode == SIM_BUFFERED && may_buffer && bytes)
        message->buffered_by = send->owner;
    if (!may_buffer) {
        message->sender = send;
        send->message = message;
    } else if (bytes && send->type->contiguous) {
        memcpy(message->data, send->buffer, bytes);
    } else if (bytes) {
        sim_datatype_copy_out(send->type, send->buffer, send->count, message->data);
    }
    return message;
}

/* ---- matching ---- */

/* The earliest posted receive that fits a message of (source, tag); NULL for none. */
static struct sim_request *first_claim(struct sim_mailbox *mailbox, struct sim_channel *channel,
                                       int tag)
{
    struct sim_request *named = posted_fitting(channel->posted_first, tag);
    struct sim_request *any = posted_fitting(mailbox->any_first, tag);
    if (!named || !any)
        return named ? named : any;
    return named->order < any->order ? named : any;
}

/* An earlier message of the sender, which a delayed wildcard claims, may yet be this receive's. `message` is one of the channel's, or NULL: one
 * that comes behind all of them. */
static bool would_overtake(const struct sim_channel *channel, const struct sim_message *message,
                           const struct sim_request *receive)
{
    for (const struct sim_message *at = channel->first; at != message; at = at->next)
        if (tag_fits(receive->tag, at->tag))
            return true;
    return false;
}

bool sim_mailbox_expects(struct sim_context *context, int destination, int source, int tag)
{
    struct sim_mailbox *mailbox = &context->mailboxes[destination];
    return first_claim(mailbox, channel_of(mailbox, source), tag) != NULL;
}

static void wake_prober(struct sim_mailbox *mailbox)
{
    struct sim_rank *prober = mailbox->prober;
    mailbox->prober = NULL;
    if (prober && sim_rank_waits(prober))
        sim_rank_wake(prober);
}

bool sim_mailbox_send(struct sim_context *context, int destination, struct sim_request *send,
                      bool may_buffer)
{
    struct sim_mailbox *mailbox = &context->mailboxes[destination];
    struct sim_channel *channel = channel_of(mailbox, send->comm->rank);
    struct sim_world *world = context->world;
    sim_world_changed(world);
    uint32_t number = channel->sent++, event = 0;
    send->causes = send->owner->causes;
    if (world->exploring)
        event = sim_causes_sent(context, destination, send, number);
    struct sim_request *receive = first_claim(mailbox, channel, send->tag);
    bool may_wait = mailbox->any_first || world->exploring || world->options.delay_receives;
    if (receive && !receive->delayed && !(may_wait && would_overtake(channel, NULL, receive))) {
        unpost(mailbox, receive);
        if (world->exploring)
            sim_causes_met(world, event, send, receive);
        if (world->options.send_model == SIM_SEND_BATCH && send->batch && receive->batch) {
            sim_batch_matched(send, receive);
            return sim_request_done(send);
        }
        send->state = SIM_MATCHED;
        size_t bytes = send->type->size * send->count;
        sim_request_matched(receive, send->comm->rank, send->tag, bytes);
        if (receive->bytes && send->type->contiguous && receive->type->contiguous)
            memcpy(receive->buffer, send->buffer, receive->bytes);
        else if (receive->bytes)
            sim_datatype_transfer(send->buffer, send->type, send->count, receive->buffer,
                                  receive->type, receive->count);
        sim_request_complete(receive);
        return true;
    }
    struct sim_message *message = message_of(send, may_buffer);
    message->number = number;
    message->event = event;
    if (message->buffered_by)
        sim_bsend_taken(message->buffered_by, message->bytes);
    message_append(mailbox, channel, message);
    if (mailbox->prober)
        wake_prober(mailbox);
    return may_buffer;
}

void sim_mailbox_enqueue_unexpected(struct sim_mailbox *mailbox, struct sim_channel *channel,
                                    const struct sim_comm *comm, int tag, const void *data,
                                    size_t bytes)
{
    struct sim_message *message = message_new(comm, tag, bytes, bytes);
    message->number = channel->sent++;
    message->event = 0;
    if (bytes)
        memcpy(message->data, data, bytes);
    message_append(mailbox, channel, message);
}

size_t sim_mailbox_dequeue_unexpected(struct sim_mailbox *mailbox, struct sim_channel *channel,
                                      struct sim_world *world, void *data)
{
    struct sim_message *message = channel->first;
    size_t bytes = message->bytes;
    message_unlink(mailbox, channel, message, NULL);
    if (bytes)
        memcpy(data, message->data, bytes);
    sim_pool_put(world, message, message->block);
    return bytes;
}

static void candidate_add(struct sim_candidates *list, struct sim_message *message)
{
    if (list->count == list->room) {
        list->room = list->room ? list->room * 2 : 16;
        list->messages = realloc(list->messages, list->room * sizeof *list->messages);
        assert(list->messages);
    }
    list->messages[list->count++] = message;
}

static struct sim_message *first_fitting(const struct sim_channel *channel, int tag)
{
    struct sim_message *message = channel->first;
    while (message && !tag_fits(tag, message->tag))
        message = message->next;
    return message;
}

static int by_arrival(const void *one, const void *other)
{
    const struct sim_message *const *a = one, *const *b = other;
    return (int32_t)((*a)->arrival - (*b)->arrival) < 0 ? -1 : 1;
}

/* The first fitting message of each source, in order of arrival. Where messages are more than sources, these are asked, one
 * after the other. */
static void collect(struct sim_mailbox *mailbox, int tag, struct sim_candidates *list)
{
    size_t from = list->count, slots = mailbox->channels ? (size_t)mailbox->mask + 1 : 1;
    struct sim_message *message = mailbox->oldest;
    for (size_t i = 0; message && i < slots; i++, message = message->later)
        if (message == first_fitting(channel_of(mailbox, message->source), tag))
            candidate_add(list, message);
    if (!message)
        return;
    list->count = from;
    for (size_t i = 0; i < slots; i++) {
        const struct sim_channel *channel =
            mailbox->channels ? &mailbox->channels[i] : &mailbox->one;
        message = channel->source == -1 ? NULL : first_fitting(channel, tag);
        if (message)
            candidate_add(list, message);
    }
    if (list->count > from)
        qsort(list->messages + from, list->count - from, sizeof *list->messages, by_arrival);
}

static struct sim_alternative alternative_of(const struct sim_message *message, uint32_t rank,
                                             uint32_t receive)
{
    return (struct sim_alternative){
        .rank = rank,
        .object = receive,
        .source = (uint32_t)sim_context_world_rank(message->context, message->source),
        .number = message->number,
        .taker = receive == UINT32_MAX ? SIM_TAKER_PROBE : SIM_TAKER_RECEIVE,
        .box = sim_context_peers(message->context)->id};
}

static struct sim_message *choose_any(struct sim_context *context, int owner, int tag,
                                      uint32_t receive)
{
    struct sim_mailbox *mailbox = &context->mailboxes[owner];
    struct sim_chooser *chooser = &context->world->chooser;
    if (chooser->driver == SIM_CHOOSE_DEFAULT && !chooser->logging) {
        struct sim_message *message = mailbox->oldest;
        while (message && !tag_fits(tag, message->tag))
            message = message->later;
        return message;
    }
    struct sim_candidates list = {0};
    collect(mailbox, tag, &list);
    if (!list.count)
        return NULL;
    uint32_t rank = (uint32_t)sim_context_world_rank(context, owner);
    struct sim_alternative *alternatives = malloc(list.count * sizeof *alternatives);
    assert(alternatives);
    for (size_t i = 0; i < list.count; i++)
        alternatives[i] = alternative_of(list.messages[i], rank, receive);
    uint32_t pick;
    if (context->world->exploring) /* a look that does not block: the rank's own choice */
        pick = sim_rank_choose(sim_current_rank, MPIX_CHOOSE_WILDCARD, (uint32_t)list.count, NULL);
    else
        pick = sim_choose(chooser, MPIX_CHOOSE_WILDCARD, rank, (uint32_t)list.count, alternatives);
    struct sim_message *message = list.messages[pick];
    free(alternatives);
    free(list.messages);
    return message;
}

struct sim_message *sim_mailbox_find(struct sim_context *context, int owner, int source, int tag)
{
    if (source == MPI_ANY_SOURCE)
        return choose_any(context, owner, tag, UINT32_MAX);
    return first_fitting(channel_of(&context->mailboxes[owner], source), tag);
}

struct sim_message *sim_mailbox_look(struct sim_context *context, int owner, int source, int tag,
                                     bool *claimed)
{
    struct sim_mailbox *mailbox = &context->mailboxes[owner];
    struct sim_message *message = sim_mailbox_find(context, owner, source, tag);
    if (!message || !context->world->options.delay_wildcards)
        return message;
    if (!first_claim(mailbox, channel_of(mailbox, message->source), message->tag))
        return message;
    if (claimed)
        *claimed = true;
    return NULL;
}

void sim_mailbox_know(struct sim_context *context, int owner, int source, uint32_t number)
{
    struct sim_channel *channel = channel_of(&context->mailboxes[owner], source);
    if (channel->known <= number)
        channel->known = number + 1;
}

bool sim_mailbox_knows(struct sim_context *context, int owner, int source, uint32_t number)
{
    return number < channel_of(&context->mailboxes[owner], source)->known;
}

void sim_mailbox_remove_message(struct sim_context *context, int owner, struct sim_message *message)
{
    struct sim_mailbox *mailbox = &context->mailboxes[owner];
    message_remove(mailbox, message);
    sim_world_changed(context->world);
    if (context->world->exploring) {
        struct sim_event *event = &context->world->chooser.log.events[message->event];
        event->complete = true;
        event->order = mailbox->posts++;
    }
}

static void queue_receive(struct sim_mailbox *mailbox, struct sim_request *receive)
{
    mailbox->posted++;
    if (receive->peer == MPI_ANY_SOURCE) {
        posted_append(&mailbox->any_first, &mailbox->any_last, receive);
        return;
    }
    struct sim_channel *channel = channel_of(mailbox, receive->peer);
    posted_append(&channel->posted_first, &channel->posted_last, receive);
}

void sim_mailbox_post(struct sim_context *context, int owner, struct sim_request *receive)
{
    struct sim_mailbox *mailbox = &context->mailboxes[owner];
    struct sim_world *world = context->world;
    sim_world_changed(world);
    receive->number = receive->owner->receives++;
    receive->order = mailbox->posts++;
    receive->causes = receive->owner->causes;
    receive->owner->message_calls++;
    receive->cancelling = receive->at_once = false;
    receive->met = 0;
    if (!receive->on_stack && record_active()) {
        receive->touched = false;
        sim_request_guard(receive);
    }
    if (world->options.delay_wildcards &&
        (receive->peer == MPI_ANY_SOURCE || (world->options.delay_receives && !receive->on_stack) ||
         (world->options.late_count &&
          sim_causes_is_late(world, receive->owner, receive->number)))) {
        queue_receive(mailbox, receive);
        world->rooms->receive_delayed(world, receive);
        return;
    }
    struct sim_message *message = NULL;
    if (mailbox->oldest)
        message = receive->peer == MPI_ANY_SOURCE
                      ? choose_any(context, owner, receive->tag, receive->number)
                      : sim_mailbox_find(context, owner, receive->peer, receive->tag);
    /* A delayed receive posted earlier may have the first claim on it. */
    if (!message || (world->options.delay_wildcards &&
                     first_claim(mailbox, channel_of(mailbox, message->source), message->tag))) {
        queue_receive(mailbox, receive);
        return;
    }
    message_remove(mailbox, message);
    receive->state = SIM_MATCHED;
    sim_message_deliver(message, receive);
}

/* ---- delayed wildcards ---- */

/* A receive may take a message only if no receive posted before it fits as well. */
void sim_mailbox_collect(struct sim_context *context, int owner, int tag,
                         const struct sim_request *receive, struct sim_candidates *list)
{
    struct sim_mailbox *mailbox = &context->mailboxes[owner];
    size_t kept = list->count, all;
    collect(mailbox, tag, list);
    all = list->count;
    for (size_t i = kept; i < all; i++) {
        struct sim_message *message = list->messages[i];
        if (first_claim(mailbox, channel_of(mailbox, message->source), message->tag) == receive)
            list->messages[kept++] = message;
    }
    list->count = kept;
}

/* After a delayed wildcard has matched, receives posted after it may have their messages. */
static void rematch(struct sim_mailbox *mailbox)
{
    for (struct sim_message *message = mailbox->oldest, *later; message && mailbox->posted;
         message = later) {
        later = message->later;
        struct sim_request *receive =
            first_claim(mailbox, channel_of(mailbox, message->source), message->tag);
        if (!receive || receive->delayed ||
            would_overtake(channel_of(mailbox, message->source), message, receive))
            continue;
        unpost(mailbox, receive);
        message_remove(mailbox, message);
        receive->state = SIM_MATCHED;
        if (receive->owner->world->exploring)
            sim_dependences_add(&receive->causes, receive->owner->world->chooser.log.count - 1);
        sim_message_deliver(message, receive);
        later = mailbox->oldest;
    }
}

/* Then whoever waited for the decision has what is left: receives first, then probes. */
static void claim_ended(const struct sim_world *world, struct sim_mailbox *mailbox)
{
    mailbox->granted = world->chooser.log.count;
    rematch(mailbox);
    if (mailbox->prober)
        wake_prober(mailbox);
}

void sim_mailbox_match_deferred(struct sim_request *receive, struct sim_message *message)
{
    struct sim_world *world = receive->owner->world;
    struct sim_mailbox *mailbox = &receive->context->mailboxes[receive->comm->rank];
    sim_causes_forget(world, receive);
    unpost(mailbox, receive);
    message_remove(mailbox, message);
    sim_world_changed(world);
    receive->state = SIM_MATCHED;
    sim_message_deliver(message, receive);
    claim_ended(world, mailbox);
}

/* ---- cancellation and the end ---- */

bool sim_mailbox_cancel_receive(struct sim_context *context, int owner, struct sim_request *receive)
{
    if (receive->state != SIM_POSTED || receive->partner)
        return false;
    bool delayed = receive->delayed;
    if (delayed)
        sim_causes_forget(context->world, receive);
    unpost(&context->mailboxes[owner], receive);
    sim_world_changed(context->world);
    if (delayed)
        claim_ended(context->world, &context->mailboxes[owner]);
    return true;
}

bool sim_mailbox_cancel_send(struct sim_context *context, int destination, struct sim_request *send)
{
    struct sim_message *message = send->message;
    if (!message || send->state != SIM_POSTED)
        return false;
    message_remove(&context->mailboxes[destination], message);
    sim_pool_put(context->world, message, message->block);
    send->message = NULL;
    sim_world_changed(context->world);
    return true;
}

static void mailbox_release(struct sim_mailbox *mailbox)
{
    for (struct sim_message *message = mailbox->oldest, *later; message; message = later) {
        later = message->later;
        if (message->block > (size_t)64 << (SIM_POOL_CLASSES - 1))
            free(message); /* smaller ones are in the world's slabs */
    }
    free(mailbox->channels);
}

bool sim_mailboxes_begin(struct sim_context *context)
{
    context->mailboxes = calloc((size_t)context->size, sizeof *context->mailboxes);
    return context->mailboxes != NULL;
}

void sim_mailboxes_end(struct sim_context *context)
{
    for (int r = 0; r < context->size; r++)
        mailbox_release(&context->mailboxes[r]);
    free(context->mailboxes);
}
