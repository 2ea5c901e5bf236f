/* Names of libraries that were needed before. As for the dynamic linker a name means one library in a program, the
 * first that was found under it, whoever asks: programs over a hundred libraries name each of them many times. */
#include "sim/programs/closure.h"

#include <stdlib.h>
#include <string.h>

bool closure_name_find(const struct closure *closure, const char *name, int *module)
{
    uint32_t hash = image_hash(name);
    for (int i = 0; i < closure->name_count; i++)
        if (closure->names[i].hash == hash && !strcmp(closure->names[i].text, name)) {
            *module = closure->names[i].module;
            return true;
        }
    return false;
}

void closure_name_add(struct closure *closure, const char *name, int module)
{
    struct closure_name *longer =
        reallocarray(closure->names, (size_t)closure->name_count + 1, sizeof *longer);
    char *text = longer ? strdup(name) : NULL;
    closure->names = longer ? longer : closure->names;
    if (text) /* else it is looked for again */
        closure->names[closure->name_count++] =
            (struct closure_name){text, image_hash(name), module};
}

void closure_names_drop(struct closure *closure, int first)
{
    int kept = 0;
    for (int i = 0; i < closure->name_count; i++)
        if (closure->names[i].module < first)
            closure->names[kept++] = closure->names[i];
        else
            free(closure->names[i].text);
    closure->name_count = kept;
}

void closure_names_share(struct closure *closure, int gone)
{
    for (int i = 0; i < closure->name_count; i++)
        if (closure->names[i].module == gone)
            closure->names[i].module = CLOSURE_SHARED;
        else if (closure->names[i].module > gone)
            closure->names[i].module--;
}

void closure_names_free(struct closure *closure)
{
    while (closure->name_count)
        free(closure->names[--closure->name_count].text);
    free(closure->names);
    closure->names = NULL;
}
