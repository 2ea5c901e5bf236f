/* The scene's memory and the order of the steps: see scene.h. */
#include "viz/lanes/scene.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_BLOCK = 1 << 16 };

struct arena_block {
    struct arena_block *next;
    size_t used;
    _Alignas(8) char bytes[ARENA_BLOCK];
};

static const struct findings no_findings;

void scene_init(struct scene *scene, const struct trace *trace, const struct findings *findings,
                const struct viz_options *options)
{
    memset(scene, 0, sizeof *scene);
    scene->trace = trace;
    scene->findings = findings ? findings : &no_findings;
    scene->options = options;
}

void scene_release(struct scene *scene)
{
    while (scene->arena) {
        struct arena_block *next = scene->arena->next;
        free(scene->arena);
        scene->arena = next;
    }
    free(scene->marks);
    free(scene->links);
    free(scene->mark_of_node);
    free(scene->mark_of_op);
    free(scene->leader);
    free(scene->next_alike);
    free(scene->lanes);
    free(scene->table);
    memset(scene, 0, sizeof *scene);
}

void *scene_allocate(struct scene *scene, size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        scene->exhausted = true;
    return memory;
}

/* Makes room for one more item; false when memory ran out. */
static bool grow(struct scene *scene, void **items, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return true;
    size_t wanted = *room ? *room * 2 : 64;
    void *larger = realloc(*items, wanted * size);
    if (!larger) {
        scene->exhausted = true;
        return false;
    }
    *items = larger;
    *room = wanted;
    return true;
}

uint32_t scene_add_mark(struct scene *scene, const struct mark *mark)
{
    void *items = scene->marks;
    bool fits = grow(scene, &items, scene->mark_count, &scene->mark_room, sizeof *scene->marks);
    scene->marks = items;
    if (!fits)
        return TRACE_NO;
    scene->marks[scene->mark_count] = *mark;
    scene->marks[scene->mark_count].alike = 1;
    return (uint32_t)scene->mark_count++;
}

uint32_t scene_add_link(struct scene *scene, uint32_t from, uint32_t to, enum link_kind kind)
{
    void *items = scene->links;
    bool fits = grow(scene, &items, scene->link_count, &scene->link_room, sizeof *scene->links);
    scene->links = items;
    if (!fits)
        return TRACE_NO;
    scene->links[scene->link_count] =
        (struct link){.from = from, .to = to, .op = TRACE_NO, .kind = (uint8_t)kind, .repeat = 1};
    return (uint32_t)scene->link_count++;
}

void scene_add_row(struct scene *scene, uint32_t rank, const char *operation, const char *needs,
                   int32_t peer)
{
    void *items = scene->table;
    bool fits = grow(scene, &items, scene->table_count, &scene->table_room, sizeof *scene->table);
    scene->table = items;
    if (fits)
        scene->table[scene->table_count++] =
            (struct unmatched){.rank = rank, .operation = operation, .needs = needs, .peer = peer};
}

void *scene_arena(struct scene *scene, size_t size)
{
    assert(size <= ARENA_BLOCK);
    size = (size + 7) & ~(size_t)7; /* keeps every piece aligned */
    if (!scene->arena || scene->arena->used + size > ARENA_BLOCK) {
        struct arena_block *block = malloc(sizeof *block);
        if (!block) {
            scene->exhausted = true;
            return NULL;
        }
        block->next = scene->arena;
        block->used = 0;
        scene->arena = block;
    }
    void *at = scene->arena->bytes + scene->arena->used;
    scene->arena->used += size;
    return memset(at, 0, size);
}

const char *scene_text(struct scene *scene, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t length = written < 0 ? 0 : (size_t)written;
    if (length >= sizeof text)
        length = sizeof text - 1;
    char *at = scene_arena(scene, length + 1);
    if (!at)
        return "";
    memcpy(at, text, length);
    return at;
}

static enum viz_view view_by_content(const struct scene *scene)
{
    const struct trace *trace = scene->trace;
    bool backward = false;
    for (size_t i = 0; i < trace->node_count && !backward; i++)
        backward = trace->nodes[i].pass > 0;
    for (size_t i = 0; i < trace->op_count && !backward; i++)
        backward = trace->ops[i].form->pass > 0;
    if (!backward)
        return VIZ_FORWARD;
    size_t forward_ops = 0, backward_ops = 0;
    for (size_t i = 0; i < scene->findings->count; i++) {
        const struct finding *finding = &scene->findings->items[i];
        if (scene->options->finding >= 0 && (size_t)scene->options->finding != i)
            continue;
        if (finding_spoils_values(finding)) { /* gradients come out of the backward pass */
            backward_ops++;
            continue;
        }
        for (size_t k = 0; k < finding->op_count; k++) {
            uint32_t op = finding->ops[k].op, node = finding->ops[k].node, pass = 0;
            if (op < trace->op_count &&
                (trace->ops[op].kind == OP_FINALIZE || trace->ops[op].kind == OP_INIT))
                continue; /* of no pass */
            if (op < trace->op_count)
                pass = trace->ops[op].form->pass;
            else if (node < trace->node_count)
                pass = trace->nodes[node].pass;
            *(pass ? &backward_ops : &forward_ops) += 1;
        }
    }
    return forward_ops && backward_ops ? VIZ_BOTH : forward_ops ? VIZ_FORWARD : VIZ_BACKWARD;
}

bool scene_build(struct scene *scene, struct failure *failure)
{
    if (scene->options->finding >= 0 && (size_t)scene->options->finding >= scene->findings->count) {
        failure_set(failure, FAILURE_USAGE, "there is no finding %d: the run has %zu",
                    scene->options->finding + 1, scene->findings->count);
        return false;
    }
    scene->view = scene->options->view == VIZ_AUTO ? view_by_content(scene) : scene->options->view;
    void (*const steps[])(struct scene *) = {scene_collect, scene_blame, scene_reduce, scene_label,
                                             scene_layout};
    for (size_t i = 0; i < sizeof steps / sizeof *steps && !scene->exhausted; i++)
        steps[i](scene);
    if (scene->exhausted)
        failure_set(failure, FAILURE_INTERNAL, "out of memory for a picture of %zu operations",
                    scene->trace->op_count);
    return !scene->exhausted;
}
