/* The words of a picture: names, notes, tooltips and the sizes they need; title, subtitle and
 * remark. */
#include "viz/lanes/scene.h"

#include "viz/paper/escape.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_POINTS = 11, NOTE_POINTS = 9 };

static const char *cut(struct scene *scene, const char *text)
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
        return scene_text(scene, " on %s", cut(scene, trace->comms[at].name));
    return scene_text(scene, " on comm %" PRIu32, trace->comms[at].id);
}

/* What a person knows an operation by: the name of its tensor, before counts. */
static const char *tensor_words(struct scene *scene, const struct trace_op *op)
{
    const char *name = trace_tensor_name(scene->trace, op);
    return *name ? scene_text(scene, "%s \xC2\xB7 ", cut(scene, name)) : "";
}

static const char *note_of_collective(struct scene *scene, const struct trace_op *op)
{
    char first[48] = "";
    if (op->form->reduce_op)
        snprintf(first, sizeof first, "%.40s ", trace_reduce_name(op->form->reduce_op));
    else if (op->peer >= 0)
        snprintf(first, sizeof first, "root %d ", op->peer);
    uint64_t number = trace_collective_number(scene->trace, (uint32_t)(op - scene->trace->ops));
    return scene_text(scene, "%s%s#%" PRIu64 "%s", tensor_words(scene, op), first, number,
                      comm_words(scene, op->form->comm));
}

/* "to 3, tag 7"; with the verb in front where the name is that of the adjoint, whose operation goes
 * the other way. */
static const char *note_of_message(struct scene *scene, const struct trace_op *op, bool verb)
{
    bool send = op_kind_class(op->kind) == CLASS_SEND;
    char peer[40], tag[24] = "";
    int32_t tag_number = op->tag == TRACE_ANY ? trace_op_tag_matched(op) : op->tag;
    if (op->peer == TRACE_NONE)
        snprintf(peer, sizeof peer, "nobody");
    else if (op->peer == TRACE_ANY && trace_op_peer_matched(op) >= 0)
        snprintf(peer, sizeof peer, "any: %d", trace_op_peer_matched(op));
    else if (op->peer == TRACE_ANY)
        snprintf(peer, sizeof peer, "any");
    else
        snprintf(peer, sizeof peer, "%d", op->peer);
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

/* "to 1, from 3": a Sendrecv is recorded as its parts, which stand side by side. */
static const char *note_of_compound(struct scene *scene, uint32_t at)
{
    const struct trace *trace = scene->trace;
    const struct trace_op *op = &trace->ops[at];
    int32_t to = TRACE_NONE, from = TRACE_NONE;
    for (size_t i = at > 2 ? at - 2 : 0; i < trace->op_count && i <= (size_t)at + 2; i++) {
        const struct trace_op *part = &trace->ops[i];
        if (part->rank != op->rank || !(part->flags & OP_COMPOUND) ||
            part->form->site != op->form->site)
            continue;
        if (op_kind_class(part->kind) == CLASS_SEND)
            to = part->peer;
        else if (op_kind_class(part->kind) == CLASS_RECEIVE)
            from = part->peer;
    }
    return scene_text(scene, "to %d, from %d", to, from);
}

static const char *note_of_op(struct scene *scene, const struct mark *mark)
{
    if (mark->op == TRACE_NO)
        return "";
    const struct trace_op *op = &scene->trace->ops[mark->op];
    if ((op->flags & OP_COMPOUND) && mark->node != TRACE_NO)
        return note_of_compound(scene, mark->op);
    switch (op_kind_class(op->kind)) {
    case CLASS_SEND:
    case CLASS_RECEIVE:
    case CLASS_PROBE:
        return note_of_message(
            scene, op,
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
        return scene_text(scene, "%s rank %d%s",
                          op_kind_class(op->kind) == CLASS_SEND ? "sending to" : "receiving from",
                          op->peer, op->tag >= 0 ? scene_text(scene, ", tag %d", op->tag) : "");
    case CLASS_WAIT: {
        uint32_t starts[64];
        size_t count = trace_op_requests(scene->trace, mark->op, starts, 64);
        for (size_t i = 0; i < count && i < 64; i++) {
            const struct trace_op *start = &scene->trace->ops[starts[i]];
            if (start->match == TRACE_NO && start->peer >= 0)
                return scene_text(scene, "%s %s rank %d, tag %d", op_kind_name(start->kind),
                                  op_kind_class(start->kind) == CLASS_SEND ? "to" : "from",
                                  start->peer, start->tag);
        }
        return "waits for its requests";
    }
    case CLASS_COLLECTIVE:
        return note_of_collective(scene, op);
    default:
        if (op->peer < 0)
            return "does not return";
        return scene_text(scene, op->kind == OP_WIN_LOCK ? "of rank %d" : "waits for rank %d",
                          op->peer);
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
    return cut(scene, scene_text(scene, count > 1 ? "dL/d(%s)" : "dL/d%s", text));
}

/* A computation of an imported schedule: "0F3", from its place "column 3: 0F3". */
static const char *name_of_cell(struct scene *scene, const struct trace_op *op)
{
    const struct trace *trace = scene->trace;
    const char *place =
        op->form->site < trace->site_count ? trace->sites[op->form->site].function : NULL;
    const char *cell = place && strncmp(place, "column ", 7) == 0 ? strstr(place, ": ") : NULL;
    return cell ? cut(scene, cell + 2) : op_kind_name(op->kind);
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
        return cut(scene, scene_text(scene, "dL/d%s", *input ? input : "x"));
    }
    return *name ? cut(scene, name) : op_kind_name(node->kind);
}

static uint32_t site_of(const struct scene *scene, const struct mark *mark)
{
    uint32_t site = mark->op == TRACE_NO ? TRACE_NO : scene->trace->ops[mark->op].form->site;
    if (site == TRACE_NO && mark->node != TRACE_NO)
        site = scene->trace->nodes[mark->node].site;
    return site;
}

static const char *tip_of(struct scene *scene, const struct mark *mark)
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
            mark->place =
                cut(scene, trace_site_text(scene->trace, site_of(scene, mark), site, sizeof site));
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

static void label_mark(struct scene *scene, struct mark *mark)
{
    bool mixed_run = mark->shape == MARK_RUN && mark->name;
    mark->name = mixed_run ? "local operations" : name_of(scene, mark);
    mark->tip = tip_of(scene, mark);
    add_lines(scene, mark);
    measure(mark);
}

static void label_link(struct scene *scene, struct link *link)
{
    if (link->op == TRACE_NO)
        return;
    const struct trace_op *op = &scene->trace->ops[link->op];
    link->tip = scene_text(scene, "tag %d, %lld %s", op->tag, (long long)op->count,
                           trace_type_name(op->form->type));
}

static const char *pass_words(enum viz_view view)
{
    return view == VIZ_BOTH      ? "forward and backward pass"
           : view == VIZ_FORWARD ? "forward pass"
                                 : "backward pass";
}

static void label_title(struct scene *scene)
{
    const struct trace *trace = scene->trace;
    const struct viz_options *options = scene->options;
    const char *path = options->name ? options->name : trace->program;
    const char *slash = options->name ? NULL : strrchr(path, '/');
    char stem[256];
    snprintf(stem, sizeof stem, "%s", slash ? slash + 1 : path);
    size_t length = strlen(stem);
    if (!options->name && length > 2 && strcmp(stem + length - 2, ".c") == 0)
        stem[length - 2] = '\0';
    scene->title =
        scene_text(scene, "%s, %" PRIu32 " rank%s, %s%s%s", cut(scene, stem), trace->ranks,
                   trace->ranks == 1 ? "" : "s",
                   trace->node_count ? pass_words(scene->view) : "operations in program order",
                   options->run ? ", " : "", options->run ? options->run : "");
}

/* Adds a line under the title; the last place stays NULL. */
static void add_subtitle(struct scene *scene, const char *text)
{
    size_t i = 0, room = sizeof scene->subtitles / sizeof *scene->subtitles - 1;
    while (i < room && scene->subtitles[i])
        i++;
    if (i < room)
        scene->subtitles[i] = text;
}

static const char *cut_line(struct scene *scene, const char *text)
{
    char out[700];
    return scene_text(scene, "%s", viz_text_cut(out, sizeof out, text ? text : "", 150));
}

/* Adds a text as up to `lines` lines of 120 characters, broken at spaces. */
static void add_wrapped(struct scene *scene, const char *text, int lines)
{
    enum { LINE = 120 };
    for (; *text && lines > 0; lines--) {
        size_t length = strlen(text);
        if (length > LINE && lines > 1)
            for (length = LINE; length > LINE / 2 && text[length] != ' '; length--)
                ;
        char line[1024];
        snprintf(line, sizeof line, "%.*s", (int)(length < 1000 ? length : 1000), text);
        add_subtitle(scene, cut_line(scene, line));
        text += length + (text[length] == ' ');
    }
}

static void label_verdict(struct scene *scene)
{
    enum { NAMED = 3 };
    size_t count = 0;
    const struct finding *first = NULL;
    for (size_t i = 0; i < scene->findings->count; i++) {
        const struct finding *finding = &scene->findings->items[i];
        if (scene->options->finding >= 0 && (size_t)scene->options->finding != i)
            continue;
        first = first ? first : finding;
        if (count++ < NAMED)
            add_subtitle(scene, scene->findings->count > 1 && scene->options->finding < 0
                                    ? scene_text(scene, "%s  %s", finding->code,
                                                 cut_line(scene, finding->title))
                                    : cut_line(scene, finding->title));
    }
    if (!first)
        return;
    const struct finding_code *code = finding_code(first->code);
    scene->verdict = count > 1
                         ? scene_text(scene, "%zu findings", count)
                         : scene_text(scene, "%s %s", first->code, code ? code->name : "finding");
    if (count > NAMED)
        add_subtitle(scene, scene_text(scene, "and %zu more", count - NAMED));
    else if (count == 1 && first->repair)
        add_wrapped(scene, scene_text(scene, "Repair: %s", first->repair), 2);
}

static void label_gradients(struct scene *scene)
{
    const struct trace *trace = scene->trace;
    size_t passed = 0;
    double worst = 0;
    if (scene->verdict || trace->gradient_count == 0)
        return;
    for (size_t i = 0; i < trace->gradient_count; i++) {
        passed += trace->gradients[i].ok;
        if (!(trace->gradients[i].relative <= worst))
            worst = trace->gradients[i].relative;
    }
    scene->good = passed == trace->gradient_count;
    add_subtitle(scene, scene_text(scene, "gradient check %zu/%zu, largest relative error %.1e",
                                   passed, trace->gradient_count, worst));
}

/* The key of the lines that are there, and what was left out. */
static void label_remark(struct scene *scene)
{
    static const char *const words[LINK_KINDS] = {[LINK_DATA] = "solid = data",
                                                  [LINK_ORDER] = "dashed = order only",
                                                  [LINK_SEQUENCE] = "thin = program order",
                                                  [LINK_MESSAGE] = "thick blue = message",
                                                  [LINK_COULD] = "dashed blue = could match",
                                                  [LINK_ADJOINT] = "dotted = adjoint of",
                                                  [LINK_WAIT_CORE] =
                                                      "heavy orange = waits for, in the core",
                                                  [LINK_WAIT_OUTSIDE] = "dashed brown = waits for",
                                                  [LINK_MISSING] = "orange dots = no order",
                                                  [LINK_REPAIR] = "double green = the repair"};
    bool present[LINK_KINDS] = {false}, band = false;
    char text[600] = "";
    size_t length = 0;
    for (size_t i = 0; i < scene->link_count; i++)
        present[scene->links[i].kind] = true;
    for (size_t i = 1; i < scene->mark_count; i++)
        band = band || (scene->marks[i].group != TRACE_NO && scene->marks[i].group != i);
    for (size_t i = 0; i < LINK_KINDS; i++)
        if (present[i] && words[i])
            length += (size_t)snprintf(text + length, sizeof text - length, "%s    ", words[i]);
    if (band)
        length += (size_t)snprintf(text + length, sizeof text - length, "band = collective    ");
    bool times = false;
    for (size_t i = 0; i < scene->mark_count; i++)
        times = times || scene->marks[i].times;
    if (times)
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "\xC3\x97 n = in n iterations, all alike    ");
    if (scene->shown < scene->total || scene->ranks_hidden)
        snprintf(text + length, sizeof text - length, "%zu of %zu operations shown%s", scene->shown,
                 scene->total,
                 scene->options->all ? "; the Chrome trace has all" : "; --all shows more");
    scene->remark = scene_text(scene, "%s", text);
}

void scene_label(struct scene *scene)
{
    for (size_t i = 0; i < scene->mark_count && !scene->exhausted; i++)
        label_mark(scene, &scene->marks[i]);
    for (size_t i = 0; i < scene->link_count && !scene->exhausted; i++)
        label_link(scene, &scene->links[i]);
    label_title(scene);
    label_verdict(scene);
    label_gradients(scene);
    label_remark(scene);
}
