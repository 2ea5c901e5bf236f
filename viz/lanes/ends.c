/* Where a backward pass begins and where its gradients come out: seeds and leaves, and the links
 * that the recording leaves out. Part of collecting a scene: see scene.h. */
#include "viz/lanes/scene.h"

#include <stdlib.h>
#include <string.h>

/* What nothing of its pass depends on feeds the gradients of its rank. */
static void link_leaves(struct scene *scene, const bool *left)
{
    uint32_t leaf = TRACE_NO;
    for (uint32_t i = (uint32_t)scene->mark_count; i-- > 0;) {
        const struct mark *mark = &scene->marks[i];
        if (mark->shape == MARK_LEAF && mark->node == TRACE_NO) {
            leaf = i;
            continue;
        }
        bool feeds = leaf != TRACE_NO && mark->shape != MARK_SEND && mark->shape != MARK_SEED &&
                     mark->rank == scene->marks[leaf].rank &&
                     mark->pass == scene->marks[leaf].pass && mark->node != TRACE_NO && !left[i] &&
                     scene->trace->nodes[mark->node].state == STATE_COMPLETE;
        if (feeds)
            scene_add_link(scene, i, leaf, LINK_DATA);
    }
}

/* A seed that nobody linked feeds what nothing else feeds. */
static void link_seeds(struct scene *scene, const bool *entered, const bool *left)
{
    uint32_t seed = TRACE_NO;
    for (int round = 0; round < 2; round++) { /* the seed may stand before or after what it feeds */
        for (uint32_t k = 0; k < scene->mark_count; k++) {
            uint32_t i = round ? k : (uint32_t)scene->mark_count - 1 - k;
            const struct mark *mark = &scene->marks[i];
            if (mark->shape == MARK_SEED && !left[i])
                seed = i;
            bool fed = seed != TRACE_NO && seed != i && mark->rank == scene->marks[seed].rank &&
                       mark->pass == scene->marks[seed].pass && mark->shape == MARK_COMPUTE &&
                       !entered[i];
            if (fed)
                scene_add_link(scene, seed, i, LINK_DATA);
        }
        seed = TRACE_NO;
    }
}

static void find_ends(struct scene *scene, bool *entered, bool *left)
{
    for (size_t i = 0; i < scene->link_count; i++) {
        entered[scene->links[i].to] |= scene->links[i].kind == LINK_DATA;
        left[scene->links[i].from] =
            true; /* a request is an order edge that stands for its message */
    }
}

/* An imported DAG names its leaves "dL/dx"; the engine has no nodes for inputs, so that add_leaf
 * made one. */
static void shape_ends(struct scene *scene, const bool *left)
{
    const struct trace *trace = scene->trace;
    for (size_t i = 0; i < scene->mark_count; i++) {
        struct mark *mark = &scene->marks[i];
        if (mark->node == TRACE_NO || mark->pass == 0 || mark->shape != MARK_COMPUTE)
            continue;
        const char *name = trace_string(trace, trace->nodes[mark->node].name);
        if (strcmp(name, "seed") == 0) {
            mark->shape = MARK_SEED; /* a value, not an operation: never entered, yet there */
            mark->never = false;
        } else if (!left[i] && strncmp(name, "dL/d", 4) == 0) {
            mark->shape = MARK_LEAF;
        }
    }
}

/* Leaves and seeds: the ends of a backward pass. */
void scene_ends(struct scene *scene)
{
    bool *entered = scene_allocate(scene, scene->mark_count, sizeof *entered);
    bool *left = scene_allocate(scene, scene->mark_count, sizeof *left);
    if (!scene->exhausted) {
        find_ends(scene, entered, left);
        shape_ends(scene, left);
        link_leaves(scene, left);
        link_seeds(scene, entered, left);
    }
    free(entered);
    free(left);
}
