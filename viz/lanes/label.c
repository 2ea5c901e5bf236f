/* The words of marks and links: names, notes, tooltips and the sizes they need. */
#include "viz/lanes/scene.h"

#include "viz/paper/escape.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_POINTS = 11, NOTE_POINTS = 9 };

const char *scene_cut(struct scene *scene, const char *text)
{
    char out[4 * VIZ_LABEL_CHARACTERS + 4];
    return scene_text(scene, "%s", viz_text_cut(out, sizeof out, text, VIZ_LABEL_CHARACTERS));
}

/* " on rows" where the communicator is not the world or its twin for adjoint traffic. */
static const char *comm_words(struct scene *scene, uint32_t at)
{
    const struct trace *trace = scene->trace;
    if (at < trace->comm_count && trace->comms[at].adjoint_of < trace->comm_count)
        at = trace->comms[at].adjoint_of;
    if (at >= trace->comm_count || trace->comms[at].id <= 1)
        return "";
    if (trace->comms[at].name[0])
        return scene_text(scene, " on %s", scene_cut(scene, trace->comms[at].name));
    return scene_text(scene, " on comm %" PRIu32, trace->comms[at].id);
}

/* What a person knows an operation by: the name of its tensor, before counts. */
static const char *tensor_words(struct scene *scene, const struct trace_op *op)
{
    const char *name = trace_tensor_name(scene->trace, op);
    return *name ? scene_text(scene, "%s \xC2\xB7 ", scene_cut(scene, name)) : "";
}

static const char *note_of_collective(struct scene *scene, const struct trace_op *op)
{
    char first[48] = "";
    if (op->form->reduce_op)
        snprintf(first, sizeof first, "%.40s ", trace_reduce_name(op->form->reduce_op));
    else if (op->peer >= 0 && op->kind == OP_INTERCOMM_CREATE)
        snprintf(first, sizeof first, "with %d, tag %d, ", op->peer, op->tag);
    else if (op->peer >= 0)
        snprintf(first, sizeof first, "root %d ", op->peer);
    uint64_t number = trace_collective_number(scene->trace, (uint32_t)(op - scene->trace->ops));
    return scene_text(scene, "%s%s#%" PRIu64 "%s", tensor_words(scene, op), first, number,
                      comm_words(scene, op->form->comm));
}

/* "to 3, tag 7"; with the verb in front where the name is that of the adjoint, whose operation goes
 * the other way. */
static const char *note_of_message(struct scene *scene, const struct mark *mark, bool verb)
{
    const struct trace_op *op = &scene->trace->ops[mark->op];
    bool send = op_kind_class(op->kind) == CLASS_SEND;
    char peer[80], tag[24] = "";
    int32_t tag_number = op->tag == TRACE_ANY ? trace_op_tag_matched(op) : op->tag;
    if (op->peer == TRACE_NONE)
        snprintf(peer, sizeof peer, "nobody");
    else if (op->peer == TRACE_ANY && trace_op_peer_matched(op) >= 0)
        snprintf(peer, sizeof peer, "any: %.60s", scene_peer(scene, mark, 1, ""));
    else if (op->peer == TRACE_ANY)
        snprintf(peer, sizeof peer, "any");
    else
        snprintf(peer, sizeof peer, "%.60s", scene_peer(scene, mark, 0, ""));
    if (tag_number >= 0 && op->peer != TRACE_NONE)
        snprintf(tag, sizeof tag, ", tag %d", tag_number);
    const char *word = send ? "send " : op_kind_class(op->kind) == CLASS_PROBE ? "probe " : "recv ";
    return scene_text(scene, "%s%s%s %s%s", tensor_words(scene, op), verb ? word : "",
                      send ? "to" : "from", peer, tag);
}

static const char *note_of_wait(struct scene *scene, uint32_t op)
{
    uint32_t starts[2];
    size_t count = trace_op_requests(scene->trace, op, starts, 2);
    if (count == 1)
        return scene_text(scene, "for %s #%" PRIu64,
                          op_kind_name(scene->trace->ops[starts[0]].kind),
                          trace_op_number(scene->trace, starts[0]));
    return scene_text(scene, "for %zu requests", count);
}

static const char *note_of_op(struct scene *scene, const struct mark *mark)
{
    if (mark->op == TRACE_NO)
        return "";
    const struct trace_op *op = &scene->trace->ops[mark->op];
    if ((op->flags & OP_COMPOUND) && mark->node != TRACE_NO)
        return scene_text(scene, "to %s, from %s", scene_peer(scene, mark, 0, ""),
                          scene_peer(scene, mark, 1, ""));
    switch (op_kind_class(op->kind)) {
    case CLASS_SEND:
    case CLASS_RECEIVE:
    case CLASS_PROBE:
        return note_of_message(
            scene, mark,
            mark->node != TRACE_NO &&
                strncmp(mark->name, op_kind_name(op->kind), strlen(op_kind_name(op->kind))) != 0);
    case CLASS_COLLECTIVE:
        return note_of_collective(scene, op);
    case CLASS_WAIT:
        if (op->flags & OP_COMPOUND)
            return "of both";
        return note_of_wait(scene, mark->op);
    default:
        return "";
    }
}

/* "waits for rank 1, tag 10": what a blocked rank would need to go on. */
static const char *note_of_blocked(struct scene *scene, const struct mark *mark)
{
    if (mark->op == TRACE_NO)
        return "never left";
    const struct trace_op *op = &scene->trace->ops[mark->op];
    switch (op_kind_class(op->kind)) {
    case CLASS_SEND:
    case CLASS_RECEIVE:
    case CLASS_PROBE:
        if (op->peer == TRACE_ANY)
            return "receiving from any sender";
        return scene_text(scene, "%s %s%s",
                          op_kind_class(op->kind) == CLASS_SEND ? "sending to" : "receiving from",
                          scene_peer(scene, mark, 0, "rank "),
                          op->tag >= 0 ? scene_text(scene, ", tag %d", op->tag) : "");
    case CLASS_WAIT: {
        uint32_t open = scene_open_request(scene, mark->op);
        const struct trace_op *start = &scene->trace->ops[open == TRACE_NO ? mark->op : open];
        if (open == TRACE_NO)
            return "waits for its requests";
        return scene_text(scene, "%s %s %s, tag %d", op_kind_name(start->kind),
                          op_kind_class(start->kind) == CLASS_SEND ? "to" : "from",
                          scene_peer(scene, mark, 0, "rank "), start->tag);
    }
    case CLASS_COLLECTIVE:
        return note_of_collective(scene, op);
    default:
        if (op->peer < 0)
            return "does not return";
        return scene_text(scene, op->kind == OP_WIN_LOCK ? "of %s" : "waits for %s",
                          scene_peer(scene, mark, 0, "rank "));
    }
}

/* "dL/dx", or "dL/d(a, b)" where several inputs of the rank were checked. */
static const char *name_of_leaf(struct scene *scene, uint32_t rank)
{
    enum { VARIABLES = 8 };
    const struct trace *trace = scene->trace;
    uint32_t variables[VARIABLES];
    char text[400] = "";
    size_t count = 0;
    for (size_t i = 0; i < trace->gradient_count && count < VARIABLES; i++) {
        const struct trace_gradient *row = &trace->gradients[i];
        size_t k = 0;
        while (k < count && variables[k] != row->variable)
            k++;
        if (row->rank != rank || row->index < 0 || k < count)
            continue;
        variables[count++] = row->variable;
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s%.60s", length ? ", " : "",
                 trace_string(trace, row->variable));
    }
    return scene_cut(scene, scene_text(scene, count > 1 ? "dL/d(%s)" : "dL/d%s", text));
}

/* A computation of an imported schedule: "0F3", from its place "column 3: 0F3". */
static const char *name_of_cell(struct scene *scene, const struct trace_op *op)
{
    const struct trace *trace = scene->trace;
    const char *place =
        op->form->site < trace->site_count ? trace->sites[op->form->site].function : NULL;
    const char *cell = place && strncmp(place, "column ", 7) == 0 ? strstr(place, ": ") : NULL;
    return cell ? scene_cut(scene, cell + 2) : op_kind_name(op->kind);
}

/* A Sendrecv is drawn as what it consists of: both messages, and where it waits for them. */
static const char *name_of_call(const struct trace_op *op)
{
    return op_kind_class(op->kind) == CLASS_WAIT ? trace_op_name(op) : op_kind_name(op->kind);
}

static const char *name_of(struct scene *scene, const struct mark *mark)
{
    const struct trace *trace = scene->trace;
    if (mark->shape == MARK_END)
        switch (trace->rank_info[mark->rank].state) {
        case RANK_ABORTED:
            return "aborted";
        case RANK_CRASHED:
            return "crashed";
        default:
            return "finished";
        }
    if (mark->node == TRACE_NO && mark->op != TRACE_NO && trace->ops[mark->op].kind == OP_COMPUTE)
        return name_of_cell(scene, &trace->ops[mark->op]);
    if (mark->node == TRACE_NO)
        return mark->shape == MARK_LEAF ? name_of_leaf(scene, mark->rank)
                                        : name_of_call(&trace->ops[mark->op]);
    const struct trace_node *node = &trace->nodes[mark->node];
    const char *name = trace_string(trace, node->name);
    if (mark->shape == MARK_LEAF && strncmp(name, "dL/d", 4) != 0) {
        const char *input = node->forward == TRACE_NO
                                ? name
                                : trace_string(trace, trace->nodes[node->forward].name);
        return scene_cut(scene, scene_text(scene, "dL/d%s", *input ? input : "x"));
    }
    return *name ? scene_cut(scene, name) : op_kind_name(node->kind);
}

static uint32_t site_of(const struct scene *scene, const struct mark *mark)
{
    uint32_t site = mark->op == TRACE_NO ? TRACE_NO : scene->trace->ops[mark->op].form->site;
    if (site == TRACE_NO && mark->node != TRACE_NO)
        site = scene->trace->nodes[mark->node].site;
    return site;
}

static const char *tip_of_one(struct scene *scene, const struct mark *mark)
{
    static const char *const states[] = {
        "never reached", "started, not complete", "blocked", "complete", "failed", "cancelled"};
    char text[256] = "", site[TRACE_SITE_TEXT], times[64] = "";
    if (mark->op != TRACE_NO) {
        const struct trace_op *op = &scene->trace->ops[mark->op];
        trace_op_text(scene->trace, mark->op, text, sizeof text);
        if (op->end)
            snprintf(times, sizeof times, ", steps %" PRIu64 " to %" PRIu64, op->begin, op->end);
        size_t state = op->state < sizeof states / sizeof *states ? op->state : 1;
        trace_at_text(scene->trace, site_of(scene, mark), site, sizeof site);
        return scene_text(scene, "rank %" PRIu32 " #%" PRIu64 ": %s%s%s, %s%s", mark->rank,
                          trace_op_number(scene->trace, mark->op), text, *site ? "," : "", site,
                          states[state], times);
    }
    trace_at_text(scene->trace, site_of(scene, mark), site, sizeof site);
    if (mark->shape == MARK_LEAF)
        return scene_text(scene, "rank %" PRIu32 ": %s%s%s", mark->rank, mark->name,
                          mark->badge ? ", " : "", mark->badge ? mark->badge : "");
    if (mark->repeat > 1)
        return scene_text(scene, "rank %" PRIu32 ": %" PRIu32 " operations in a row%s%s",
                          mark->rank, mark->repeat, *site ? ", the first" : "", site);
    return scene_text(scene, "rank %" PRIu32 ": %s%s%s", mark->rank, mark->name, *site ? "," : "",
                      site);
}

static const char *tip_of(struct scene *scene, const struct mark *mark)
{
    const char *one = tip_of_one(scene, mark);
    if (mark->alike == 1)
        return one;
    const char *among = mark->among ? scene_text(scene, "; %" PRIu64 " message%s among them",
                                                 mark->among, mark->among == 1 ? "" : "s")
                                    : "";
    return scene_text(scene, "%" PRIu32 " ranks alike%s; %s", mark->alike, among, one);
}

/* A call that returns at once, and is made again and again. */
static bool polls(const struct scene *scene, const struct mark *mark)
{
    int kind = mark->op == TRACE_NO ? OP_NONE : scene->trace->ops[mark->op].kind;
    return kind == OP_TEST || kind == OP_TESTANY || kind == OP_TESTALL || kind == OP_TESTSOME ||
           kind == OP_IPROBE || kind == OP_IMPROBE;
}

static void add_lines(struct scene *scene, struct mark *mark)
{
    char site[TRACE_SITE_TEXT];
    mark->place = mark->badge;
    if (mark->blocked) {
        mark->name = scene_text(scene, polls(scene, mark) ? "%s polls" : "%s blocked", mark->name);
        mark->note = note_of_blocked(scene, mark);
        if (!mark->badge && trace_site_known(scene->trace, site_of(scene, mark)))
            mark->place = scene_cut(
                scene, trace_site_text(scene->trace, site_of(scene, mark), site, sizeof site));
    } else if (mark->never) {
        mark->note = "never reached";
    } else if (mark->shape == MARK_RUN) {
        mark->note = scene_text(scene, "\xC3\x97 %" PRIu32, mark->repeat);
    } else if (mark->shape == MARK_SEED) {
        mark->note = "dL/dL = 1";
    } else if (mark->shape == MARK_COMPUTE && mark->tone == TONE_TAINTED) {
        mark->note = "tainted";
    } else if (mark->op == TRACE_NO && mark_communicates(mark) && scene->trace->op_count) {
        mark->note = "no communication"; /* an adjoint that should have some */
    } else {
        mark->note = note_of_op(scene, mark);
    }
    if (mark->times && !mark->place)
        mark->place = scene_text(scene, "\xC3\x97 %" PRIu64, mark->times);
    if (!*mark->note && mark->place) { /* the badge moves up */
        mark->note = mark->place;
        mark->place = NULL;
    }
}

static bool bold(const struct mark *mark)
{
    return mark->blocked || mark->shape == MARK_COLLECTIVE || mark->tone == TONE_FAULT;
}

static void measure(struct mark *mark)
{
    static const double padding[] = {[MARK_COMPUTE] = 18,    [MARK_SEND] = 30, [MARK_RECEIVE] = 30,
                                     [MARK_COLLECTIVE] = 32, [MARK_WAIT] = 26, [MARK_SEED] = 16,
                                     [MARK_LEAF] = 24,       [MARK_RUN] = 22,  [MARK_END] = 10};
    double width = viz_text_width(mark->name, NAME_POINTS, bold(mark));
    if (mark->shape == MARK_WAIT && mark->place)
        width *= 1.2; /* the first of three lines is where the hexagon is narrow */
    double note = viz_text_width(mark->note, NOTE_POINTS, mark->note == mark->badge);
    double place = viz_text_width(mark->place, NOTE_POINTS, mark->place == mark->badge);
    width = fmax(width, fmax(note, place)) + padding[mark->shape];
    mark->width = fmax(width, 50);
    bool pentagon =
        mark->shape == MARK_SEND || mark->shape == MARK_RECEIVE; /* drawn lower than it is */
    mark->height = (mark->place ? 50 : 34) * (pentagon ? 1.2 : 1);
}

/* What came out at a leaf, of all ranks that are drawn in its lane. */
static const char *badge_of_leaf(struct scene *scene, const struct mark *mark)
{
    const struct trace_gradient *worst = mark->leaf.worst;
    if (!mark->wrong)
        return scene_text(scene, "%zu checked, error %.1e", mark->leaf.checked, worst->relative);
    const char *count =
        mark->alike > 1 ? scene_text(scene, "%zu wrong, worst ", mark->leaf.failed) : "";
    return scene_text(scene, "%s%.5g, FD %.5g", count, worst->analytic, worst->numeric);
}

static void label_mark(struct scene *scene, struct mark *mark)
{
    if (mark->leaf.worst)
        mark->badge = badge_of_leaf(scene, mark);
    bool mixed_run = mark->shape == MARK_RUN && mark->name;
    mark->name = mixed_run ? "local operations" : name_of(scene, mark);
    mark->tip = tip_of(scene, mark);
    add_lines(scene, mark);
    measure(mark);
}

static void label_link(struct scene *scene, struct link *link)
{
    bool several = scene->marks[link->from].alike > 1 || scene->marks[link->to].alike > 1;
    const char *count = scene_count_words(scene, link);
    if (*count && several)
        link->label = count;
    if (link->op == TRACE_NO) {
        link->tip = *count ? count : NULL;
        return;
    }
    const struct trace_op *op = &scene->trace->ops[link->op];
    link->tip = scene_text(scene, "%s%stag %d, %lld %s", count, *count ? ", " : "", op->tag,
                           (long long)op->count, trace_type_name(op->form->type));
}

void scene_label(struct scene *scene)
{
    for (size_t i = 0; i < scene->mark_count && !scene->exhausted; i++)
        label_mark(scene, &scene->marks[i]);
    for (size_t i = 0; i < scene->link_count && !scene->exhausted; i++)
        label_link(scene, &scene->links[i]);
    scene_table(scene);
    scene_title(scene);
}
