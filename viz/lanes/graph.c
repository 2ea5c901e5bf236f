/* The front of viz: builds a scene and writes it. See graph.h. */
#include "viz/lanes/graph.h"

#include "viz/lanes/dot.h"
#include "viz/lanes/draw.h"
#include "viz/lanes/scene.h"

struct viz_options viz_options_default(void)
{
    return (struct viz_options){.view = VIZ_AUTO, .finding = -1};
}

static bool write_scene(FILE *file, const struct trace *trace, const struct findings *findings,
                        const struct viz_options *options,
                        void (*write)(FILE *, const struct scene *), struct failure *failure)
{
    struct scene scene;
    scene_init(&scene, trace, findings, options);
    bool built = scene_build(&scene, failure);
    if (built)
        write(file, &scene);
    scene_release(&scene);
    if (built && ferror(file)) {
        failure_set(failure, FAILURE_INTERNAL, "the picture could not be written");
        return false;
    }
    return built;
}

bool viz_graph_write(FILE *file, const struct trace *trace, const struct findings *findings,
                     const struct viz_options *options, struct failure *failure)
{
    return write_scene(file, trace, findings, options, dot_write, failure);
}

bool viz_graph_write_svg(FILE *file, const struct trace *trace, const struct findings *findings,
                         const struct viz_options *options, struct failure *failure)
{
    return write_scene(file, trace, findings, options, draw_write, failure);
}
