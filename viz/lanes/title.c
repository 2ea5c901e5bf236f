/* The words above a picture: title, subtitles and remark. See label.c for those in it. */
#include "viz/lanes/scene.h"

#include "viz/paper/escape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
        scene_text(scene, "%s, %" PRIu32 " rank%s, %s%s%s", scene_cut(scene, stem), trace->ranks,
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
    bool times = false, alike = false;
    for (size_t i = 0; i < scene->mark_count; i++) {
        times = times || scene->marks[i].times;
        alike = alike || scene->marks[i].alike > 1;
    }
    if (times)
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "\xC3\x97 n = in n iterations, all alike    ");
    if (alike)
        length +=
            (size_t)snprintf(text + length, sizeof text - length,
                             "double lane = each of its ranks does this; --all draws each    ");
    if (scene->shown < scene->total || scene->ranks_hidden)
        snprintf(text + length, sizeof text - length, "%zu of %zu operations shown%s", scene->shown,
                 scene->total,
                 scene->options->all ? "; the Chrome trace has all" : "; --all shows more");
    scene->remark = scene_text(scene, "%s", text);
}

void scene_title(struct scene *scene)
{
    label_title(scene);
    label_verdict(scene);
    label_gradients(scene);
    label_remark(scene);
}
