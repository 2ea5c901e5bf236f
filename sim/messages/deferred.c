/* Delayed takers: see deferred.h. */
#include "sim/messages/deferred.h"

#include "sim/messages/causes.h"
#include "sim/messages/failures.h"

#include <assert.h>
#include <stdlib.h>

/* A rank blocked in a probe or a Waitany, or held in a poll; lives on its stack. */
struct sim_blocked_probe {
    struct sim_blocked_probe *next;
    struct sim_rank *rank;
    uint32_t object, event;
    struct sim_context *context; /* probe */
    const struct sim_comm *comm; /* of one that blocks and may hear of a failure, else NULL */
    int owner, source, tag;
    struct sim_request **requests; /* Waitany */
    int count;
    enum sim_poll poll;
    struct sim_lock_call *lock;
    const struct sim_timeout *patience; /* NULL: waits for ever */
    bool vain;                          /* there is nothing now */
    bool granted;
    struct sim_message *message;
    int index;
};

static void note_look(struct sim_blocked_probe *look);

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

static struct sim_alternative nothing(enum sim_taker taker, const struct sim_rank *rank,
                                      uint32_t object, uint32_t box)
{
    return (struct sim_alternative){.rank = (uint32_t)rank->id,
                                    .object = object,
                                    .source = SIM_NOTHING,
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
    if (receive->cancelling)
        add(options, (struct option){.receive = receive},
            nothing(SIM_TAKER_RECEIVE, receive->owner, receive->number, receive->context->id));
}

/* True when the rank knows that one of them is there. */
static bool add_probe(struct options *options, struct sim_blocked_probe *look)
{
    struct sim_candidates found = {0};
    bool known = false;
    sim_mailbox_collect(look->context, look->owner, look->tag, NULL, &found);
    for (size_t i = 0; i < found.count; i++) {
        struct sim_message *message = found.messages[i];
        if (look->source != MPI_ANY_SOURCE && message->source != look->source)
            continue;
        known |= sim_mailbox_knows(look->context, look->owner, message->source, message->number);
        add(options, (struct option){.look = look, .message = message},
            taking(message, SIM_TAKER_PROBE, look->rank, look->object, look->context->id));
    }
    free(found.messages);
    return known;
}

static bool is_reportable(const struct sim_request *request)
{
    return request && request->state != SIM_INACTIVE && sim_request_done(request);
}

/* The rank knows that it is complete: what it received came before something the rank has seen. */
static bool is_known(const struct sim_request *request)
{
    if (request->kind != SIM_REQUEST_RECEIVE || request->state != SIM_COMPLETE)
        return false;
    if (request->at_once || !request->met)
        return request->at_once;
    const struct sim_event *message = &request->owner->world->chooser.log.events[request->met - 1];
    return sim_mailbox_knows(request->context, message->owner, request->source_matched,
                             message->number);
}

static void add_item(struct options *options, struct sim_blocked_probe *look, int index)
{
    add(options, (struct option){.look = look, .index = index},
        (struct sim_alternative){.rank = (uint32_t)look->rank->id,
                                 .object = look->object,
                                 .source = (uint32_t)index,
                                 .taker = SIM_TAKER_WAITANY});
}

/* True when the rank knows that one of them is complete. */
static bool add_waitany(struct options *options, struct sim_blocked_probe *look)
{
    bool known = false;
    for (int i = 0; i < look->count; i++) {
        if (!is_reportable(look->requests[i]))
            continue;
        known |= is_known(look->requests[i]);
        add_item(options, look, i);
    }
    return known;
}

/* The same for Testall: index 0 stands for all of them. */
static bool add_testall(struct options *options, struct sim_blocked_probe *look)
{
    bool known = true;
    for (int i = 0; i < look->count; i++) {
        const struct sim_request *request = look->requests[i];
        if (!request || request->state == SIM_INACTIVE)
            continue;
        if (!sim_request_done(request))
            return false;
        known &= is_known(request);
    }
    add_item(options, look, 0);
    return known;
}

static void add_lock(struct options *options, struct sim_blocked_probe *look)
{
    struct sim_alternative follows;
    if (!look->lock->may_have(look->lock, &follows))
        return;
    follows.rank = (uint32_t)look->rank->id;
    follows.object = look->object;
    follows.taker = SIM_TAKER_LOCK;
    follows.box = look->lock->box;
    add(options, (struct option){.look = look}, follows);
}

static void add_nothing(struct options *options, struct sim_blocked_probe *look)
{
    add(options, (struct option){.look = look, .index = -1},
        nothing(look->context ? SIM_TAKER_PROBE : SIM_TAKER_WAITANY, look->rank, look->object,
                look->context ? look->context->id : 0));
}

/* What is there may also be on its way still: a poll is answered "not yet" so often in a row, or
 * nobody would come to an end who waits in a loop. Only a message that the rank has seen is there
 * for a probe; a receive that took it may still wait for its data. */
static void add_look(struct options *options, struct sim_blocked_probe *look)
{
    struct sim_world *world = look->rank->world;
    size_t before = options->count;
    if (look->lock) {
        add_lock(options, look);
        return;
    }
    bool known = look->context                ? add_probe(options, look)
                 : look->poll == SIM_POLL_ALL ? add_testall(options, look)
                                              : add_waitany(options, look);
    look->vain = options->count == before;
    if (look->poll == SIM_POLL_NONE || (known && look->context) || look->vain)
        return;
    if (look->poll == SIM_POLL_REST || look->rank->not_yet < world->options.not_yet_max)
        add_nothing(options, look);
    else
        world->chooser.log.gaps |= SIM_GAP_POLLS;
}

static bool is_in_vain(const struct sim_blocked_probe *look)
{
    if (look->poll == SIM_POLL_NONE || !look->vain)
        return false;
    bool all = look->poll == SIM_POLL_ALL, certain = all && look->count;
    for (int i = 0; i < look->count; i++) {
        const struct sim_request *request = look->requests[i];
        if (!request || request->state == SIM_INACTIVE)
            continue;
        bool known = is_known(request) || (request->delayed && request->at_once);
        certain = all ? certain && known : certain || known;
    }
    return !certain;
}

/* Polls that see nothing go on last, when nobody else can or may: had somebody gone on first, there
 * might have been something. */
static void add_vain(struct options *options, struct sim_blocked_probe *look)
{
    struct sim_world *world = look->rank->world;
    if (look->poll == SIM_POLL_REST || look->rank->vain < 2 * world->options.not_yet_max)
        add_nothing(options, look);
    else
        world->chooser.log.gaps |= SIM_GAP_POLLS;
}

/* ---- granting ---- */

static void look_end(struct sim_blocked_probe *look)
{
    struct sim_blocked_probe **link = &look->rank->world->looks;
    while (*link != look)
        link = &(*link)->next;
    *link = look->next;
}

static bool is_nothing(const struct option *option)
{
    return option->receive ? !option->message : !option->message && option->index < 0;
}

static void grant_look(struct sim_world *world, const struct option *option)
{
    struct sim_blocked_probe *look = option->look;
    look_end(look);
    look->granted = true;
    look->message = option->message;
    look->index = option->index;
    if (!is_nothing(option)) {
        look->rank->not_yet = look->rank->vain = 0;
        sim_world_changed(world);
    } else if (look->poll != SIM_POLL_REST) {
        look->rank->not_yet += !look->vain;
        look->rank->vain += look->vain;
    }
    sim_rank_wake(look->rank);
}

static void grant_receive(const struct option *option)
{
    if (option->message)
        sim_mailbox_match_deferred(option->receive, option->message);
    else
        sim_deferred_cancel_now(option->receive);
}

/* What the choice depends on besides its taker. */
static void join_taken(struct sim_world *world, const struct option *option,
                       struct sim_dependences *past)
{
    const struct sim_blocked_probe *look = option->look;
    if (option->message)
        sim_dependences_join(past, &world->chooser.log.events[option->message->event].causes);
    if (!look || look->context || look->lock || option->index < 0)
        return;
    bool all = look->poll == SIM_POLL_ALL;
    for (int i = all ? 0 : option->index; i < (all ? look->count : option->index + 1); i++)
        if (look->requests[i])
            sim_dependences_join(past, &look->requests[i]->causes);
}

/* The choice is the last of the log: who takes, what led to it, and that it leads on. */
static void note_choice(struct sim_world *world, const struct option *option)
{
    size_t at = world->chooser.log.count - 1;
    struct sim_dependences *taker =
        option->receive ? &option->receive->causes : &option->look->rank->causes;
    if (option->look && option->look->poll != SIM_POLL_NONE)
        note_look(option->look);
    struct sim_choice *choice = &world->chooser.log.choices[at];
    choice->past = *taker;
    choice->taker = option->receive ? option->receive->event : option->look->event;
    if (option->look && option->look->lock)
        world->chooser.log.events[choice->taker].complete = true;
    join_taken(world, option, &choice->past);
    if (option->look)
        sim_dependences_join(taker, &choice->past);
    sim_dependences_add(taker, at);
}

/* Had somebody gone on whom MPI need not have wait, there might be more to choose from. */
static void note_needless(struct sim_world *world)
{
    const struct sim_world_options *options = &world->options;
    bool asked = options->strict_collectives || options->send_model != SIM_SEND_EAGER;
    if (!world->exploring || asked || world->chooser.log.gaps & SIM_GAP_WAITING)
        return;
    if (world->needless || (world->wait_needlessly && world->wait_needlessly(world)))
        world->chooser.log.gaps |= SIM_GAP_WAITING;
}

static bool grant_one(struct sim_world *world)
{
    struct options options = {0};
    for (struct sim_request *receive = world->delayed; receive; receive = receive->delayed_next)
        add_receive(&options, receive);
    for (struct sim_blocked_probe *look = world->looks; look; look = look->next)
        add_look(&options, look);
    for (struct sim_blocked_probe *look = world->looks; look && world->exploring; look = look->next)
        if (is_in_vain(look))
            add_vain(&options, look);
    bool goes = options.count > 0;
    if (goes) {
        uint32_t pick = sim_choose(&world->chooser, MPIX_CHOOSE_WILDCARD, UINT32_MAX,
                                   (uint32_t)options.count, options.alternatives);
        const struct option *option = &options.items[pick];
        note_needless(world);
        if (world->chooser.stopped) {
            sim_world_stop(world, OUTCOME_INTERRUPTED);
            goes = false;
        } else {
            if (world->exploring)
                note_choice(world, option);
            if (option->receive)
                grant_receive(option);
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

static uint64_t polls_in_vain(const struct sim_rank *rank)
{
    return rank->idle_since == rank->world->changes ? rank->idle_polls : 0;
}

bool sim_deferred_spin(struct sim_world *world)
{
    struct sim_blocked_probe *least = NULL;
    for (struct sim_blocked_probe *look = world->looks; look; look = look->next)
        if (look->poll != SIM_POLL_NONE &&
            (!least || polls_in_vain(look->rank) < polls_in_vain(least->rank)))
            least = look;
    if (!least)
        return false;
    least->rank->looks = least->object; /* no choice was made */
    grant_look(world, &(struct option){.look = least, .index = -1});
    return true;
}

/* ---- takers ---- */

static uint32_t note_taker(const struct sim_rank *rank, struct sim_context *context, int owner,
                           int source, int tag, uint64_t order, uint32_t object)
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
    if (source != MPI_ANY_SOURCE)
        event->source = (uint32_t)sim_context_world_rank(sim_context_peers(context), source);
    return at;
}

/* What it wants has arrived, and the rank knows. */
static bool has_known(const struct sim_request *receive)
{
    struct sim_candidates found = {0};
    int owner = receive->comm->rank;
    bool known = false;
    sim_mailbox_collect(receive->context, owner, receive->tag, receive, &found);
    for (size_t i = 0; i < found.count; i++)
        known |= sim_mailbox_knows(receive->context, owner, found.messages[i]->source,
                                   found.messages[i]->number);
    free(found.messages);
    return known;
}

void sim_deferred_post(struct sim_world *world, struct sim_request *receive)
{
    receive->delayed = true;
    receive->delayed_next = NULL;
    *world->delayed_tail = receive;
    world->delayed_tail = &receive->delayed_next;
    receive->at_once = world->exploring && has_known(receive);
    if (world->exploring)
        receive->event = note_taker(receive->owner, receive->context, receive->comm->rank,
                                    receive->peer, receive->tag, receive->order, receive->number);
}

static void note_items(struct sim_blocked_probe *look)
{
    for (int i = 0; i < look->count; i++) {
        struct sim_request *request = look->requests[i];
        uint32_t at;
        if (!request || request->state == SIM_INACTIVE)
            continue;
        struct sim_event *item = sim_log_event(&look->rank->world->chooser, &at);
        item->kind = SIM_EVENT_ITEM;
        item->rank = (uint32_t)look->rank->id;
        item->object = look->object;
        item->number = (uint32_t)i;
        item->all = look->poll == SIM_POLL_ALL;
        item->complete = sim_request_done(request);
        item->causes = request->causes;
        item->next = request->items ? request->items - 1 : UINT32_MAX;
        request->items = at + 1;
    }
}

static void note_look(struct sim_blocked_probe *look)
{
    look->event = UINT32_MAX;
    if (look->lock) {
        struct sim_event *event = sim_log_event(&look->rank->world->chooser, &look->event);
        event->kind = SIM_EVENT_LOCK;
        event->all = look->lock->exclusive;
        event->rank = (uint32_t)look->rank->id;
        event->object = look->object;
        event->box = look->lock->box;
        event->owner = (int32_t)look->lock->target;
        event->causes = look->rank->causes;
        return;
    }
    if (look->context)
        look->event = note_taker(look->rank, look->context, look->owner, look->source, look->tag,
                                 look->context->mailboxes[look->owner].posts++, look->object);
    else
        note_items(look);
}

static bool has_message(struct sim_context *context, int owner, int tag,
                        const struct sim_request *receive)
{
    struct sim_candidates list = {0};
    sim_mailbox_collect(context, owner, tag, receive, &list);
    free(list.messages);
    return list.count;
}

/* The first that stands back (failures.h) and has no message that it could take; -1: none, or another
 * one is done. */
static int standing_back(const struct sim_blocked_probe *look)
{
    int found = -1;
    for (int i = look->count - 1; i >= 0; i--) {
        const struct sim_request *request = look->requests[i];
        if (!request || request->state == SIM_INACTIVE)
            continue;
        if (sim_request_done(request))
            return -1;
        if (sim_request_stands_back(request) &&
            !has_message(request->context, request->comm->rank, request->tag, request))
            found = i;
    }
    return found;
}

/* What it waits for may never come: its patience has ended, or a failure is not acknowledged. */
static bool gives_up(struct sim_blocked_probe *look)
{
    if (look->patience)
        return look->patience->passed;
    if (!look->rank->world->troubled || look->poll != SIM_POLL_NONE)
        return false;
    if (look->comm)
        return sim_comm_peer_error(look->comm, look->source) &&
               !has_message(look->context, look->owner, look->tag, NULL);
    look->index = look->requests ? standing_back(look) : -1;
    return look->index >= 0;
}

/* What a poll looks at is noted when it is answered: fruitless ones leave nothing behind. */
static void look_until_granted(struct sim_blocked_probe *look)
{
    struct sim_world *world = look->rank->world;
    struct sim_blocked_probe **last = &world->looks;
    look->object = look->rank->looks++;
    if (world->exploring && look->poll == SIM_POLL_NONE)
        note_look(look);
    while (*last)
        last = &(*last)->next;
    *last = look;
    while (!look->granted && !gives_up(look))
        sim_rank_block_reconsidering(look->rank);
    if (!look->granted)
        look_end(look);
    look->rank->was_held = look->poll != SIM_POLL_NONE;
}

struct sim_message *sim_deferred_probe(const struct sim_comm *comm, int tag,
                                       const struct sim_timeout *patience)
{
    struct sim_blocked_probe look = {.rank = comm->owner,
                                     .context = comm->context,
                                     .comm = comm,
                                     .owner = comm->rank,
                                     .source = MPI_ANY_SOURCE,
                                     .tag = tag,
                                     .patience = patience};
    look_until_granted(&look);
    return look.message;
}

struct sim_message *sim_deferred_iprobe(struct sim_rank *rank, struct sim_context *context,
                                        int owner, int source, int tag)
{
    struct sim_blocked_probe look = {.rank = rank,
                                     .context = context,
                                     .owner = owner,
                                     .source = source,
                                     .tag = tag,
                                     .poll = SIM_POLL_ANY};
    look_until_granted(&look);
    return look.message;
}

int sim_deferred_waitany(struct sim_rank *rank, struct sim_request **requests, int count,
                         enum sim_poll poll)
{
    struct sim_blocked_probe look = {
        .rank = rank, .requests = requests, .count = count, .poll = poll};
    look_until_granted(&look);
    return look.index;
}

void sim_deferred_lock(struct sim_rank *rank, struct sim_lock_call *call)
{
    struct sim_blocked_probe look = {.rank = rank, .lock = call};
    look_until_granted(&look);
    call->number = look.object;
    call->event = look.event;
}

/* ---- cancelling ---- */

static bool may_be_late(const struct sim_request *request)
{
    return request->state != SIM_INACTIVE && request->peer != MPI_PROC_NULL && !is_known(request);
}

void sim_deferred_cancel(struct sim_request *request)
{
    struct sim_rank *rank = request->owner;
    struct sim_world *world = rank->world;
    if (request->kind == SIM_REQUEST_RECEIVE && request->state == SIM_POSTED && !request->partner) {
        request->cancelling = !has_known(request);
        if (!request->delayed && request->cancelling)
            sim_deferred_post(world, request);
    } else if (request->kind == SIM_REQUEST_RECEIVE && may_be_late(request)) {
        uint32_t at;
        struct sim_event *event = sim_log_event(&world->chooser, &at);
        bool delayed =
            request->peer == MPI_ANY_SOURCE || sim_causes_is_late(world, rank, request->number);
        event->kind = SIM_EVENT_CANCEL;
        event->rank = (uint32_t)rank->id;
        event->object = request->number;
        event->next = delayed ? request->event : UINT32_MAX;
        event->causes = rank->causes;
    } else if (request->kind != SIM_REQUEST_GENERAL && may_be_late(request)) {
        world->chooser.log.gaps |= SIM_GAP_CANCEL;
    }
}

void sim_deferred_cancel_now(struct sim_request *receive)
{
    struct sim_rank *waiter = receive->waiter;
    bool unposted = sim_mailbox_cancel_receive(receive->context, receive->comm->rank, receive);
    assert(unposted);
    receive->cancelling = false;
    receive->state = SIM_CANCELLED;
    receive->status_cancelled = true;
    receive->waiter = NULL;
    if (receive->items)
        sim_causes_completed(receive);
    if (waiter && sim_rank_waits(waiter))
        sim_rank_wake(waiter);
    if (receive->freed)
        sim_request_delete(receive);
}

void sim_deferred_seen(struct sim_rank *rank, const struct sim_request *request)
{
    sim_dependences_join(&rank->causes, &request->causes);
    if (request->kind != SIM_REQUEST_RECEIVE || !request->met || request->state != SIM_COMPLETE)
        return;
    const struct sim_event *message = &rank->world->chooser.log.events[request->met - 1];
    sim_mailbox_know(request->context, message->owner, request->source_matched, message->number);
}
