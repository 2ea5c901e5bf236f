/* What is asked of the checks: see check.h, which reads it from words. */
#ifndef CHECKER_OPTIONS_H
#define CHECKER_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

/* When a standard send completes: at once; when it is matched; together with its whole batch. */
enum check_model { CHECK_EAGER = 1, CHECK_RENDEZVOUS = 2, CHECK_BATCH = 4, CHECK_ALL_MODELS = 7 };

/* What a device runs in issue order: nothing; what is issued for one communicator; everything. */
enum device_streams { STREAMS_NONE, STREAMS_COMMUNICATOR, STREAMS_DEVICE };

struct check_options {
    uint64_t checks;             /* bit i: row i of the table runs */
    unsigned models;             /* enum check_model: those to look for danger under */
    enum device_streams streams; /* operations run on streams, besides the models; a trace may say
                                    so itself, by its model */
    uint64_t search_limit;       /* steps a search for a cycle or a matching may take before it says
                              "bounded" */
};

/* Every check, every model, a bound that ends within a second or so. */
void check_options_init(struct check_options *options);

/* "eager", "rendezvous", "batch". */
const char *check_model_name(enum check_model model);
/* "streams", "device"; "" for none. And the other way round: none for every other name. */
const char *check_streams_name(enum device_streams streams);
enum device_streams check_streams_named(const char *name);
/* The names of a mask, separated by spaces, into `text`, returned. */
char *check_models_text(unsigned models, char *text, size_t size);

#endif
