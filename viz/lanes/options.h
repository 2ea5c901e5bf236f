/* What a picture is to show: see graph.h. */
#ifndef VIZ_LANES_OPTIONS_H
#define VIZ_LANES_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum viz_view {
    VIZ_AUTO, /* what the findings are about; else backward if there is one, else forward */
    VIZ_FORWARD,
    VIZ_BACKWARD,
    VIZ_BOTH
};

struct viz_options {
    enum viz_view view;
    int finding;  /* index of the one finding to draw, -1: all */
    size_t limit; /* marks drawn whole, 0: 400; of more, a third of as many, around the findings */
    bool all;     /* up to 20,000 marks instead of the neighbourhood of the findings */
    const char *name;   /* for the title; NULL: the trace's program */
    const char *run;    /* "run 17", for the title; NULL: none */
    const char *prefix; /* of every id, so that several pictures live in one page; NULL: "g" */
};

#endif
