/* Coders by name, and the one that changes nothing. */
#include <server.h>
#include <stdlib.h>
#include <string.h>

static size_t none_room(const struct server_coder *coder, size_t count)
{
    (void)coder;
    return count * sizeof(double);
}

static size_t none_encode(const struct server_coder *coder, const double *values, size_t count,
                          uint64_t seed, void *bytes)
{
    (void)coder, (void)seed;
    memcpy(bytes, values, count * sizeof *values);
    return count * sizeof *values;
}

static bool none_decode(const struct server_coder *coder, const void *bytes, size_t size,
                        double *values, size_t count)
{
    (void)coder;
    if (size != count * sizeof *values)
        return false;
    memcpy(values, bytes, size);
    return true;
}

struct server_coder server_coder_none(void)
{
    return (struct server_coder){.name = "none",
                                 .exact = true,
                                 .room = none_room,
                                 .encode = none_encode,
                                 .decode = none_decode};
}

/* The number after "name:", `usual` where there is none; false when the text is no such thing. */
static bool setting_of(const char *text, const char *name, double usual, double low, double high,
                       double *setting)
{
    size_t length = strlen(name);
    if (strncmp(text, name, length) != 0)
        return false;
    *setting = usual;
    if (text[length] == 0)
        return true;
    char *end = NULL;
    *setting = text[length] == ':' ? strtod(text + length + 1, &end) : 0;
    return end && end != text + length + 1 && *end == 0 && *setting >= low && *setting <= high;
}

bool server_coder_parse(const char *text, struct server_coder *coder)
{
    double setting;
    if (strcmp(text, "none") == 0)
        *coder = server_coder_none();
    else if (strcmp(text, "float16") == 0)
        *coder = server_coder_float16();
    else if (strcmp(text, "bfloat16") == 0)
        *coder = server_coder_bfloat16();
    else if (setting_of(text, "top-k", 0.1, 1e-9, 1, &setting))
        *coder = server_coder_top_k(setting);
    else if (setting_of(text, "quantised", 8, 1, 127, &setting))
        *coder = server_coder_quantised((int)setting);
    else if (setting_of(text, "zstd", 3, 1, 19, &setting))
        *coder = server_coder_zstd((int)setting);
    else
        return false;
    return true;
}
