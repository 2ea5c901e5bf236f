/* What is asked of the checks, and the names of models: see options.h. */
#include "checker/options.h"

#include <stdio.h>
#include <string.h>

void check_options_init(struct check_options *options)
{
    *options = (struct check_options){
        .checks = UINT64_MAX, .models = CHECK_ALL_MODELS, .search_limit = 20000000};
}

const char *check_model_name(enum check_model model)
{
    return model == CHECK_EAGER ? "eager" : model == CHECK_RENDEZVOUS ? "rendezvous" : "batch";
}

const char *check_streams_name(enum device_streams streams)
{
    return streams == STREAMS_DEVICE ? "device" : streams == STREAMS_COMMUNICATOR ? "streams" : "";
}

enum device_streams check_streams_named(const char *name)
{
    for (unsigned streams = STREAMS_COMMUNICATOR; streams <= STREAMS_DEVICE; streams++)
        if (strcmp(check_streams_name((enum device_streams)streams), name) == 0)
            return (enum device_streams)streams;
    return STREAMS_NONE;
}

char *check_models_text(unsigned models, char *text, size_t size)
{
    size_t length = 0;
    text[0] = 0;
    for (unsigned model = CHECK_EAGER; model <= CHECK_BATCH; model <<= 1)
        if (models & model && length < size)
            length += (size_t)snprintf(text + length, size - length, "%s%s", length ? " " : "",
                                       check_model_name((enum check_model)model));
    return text;
}
