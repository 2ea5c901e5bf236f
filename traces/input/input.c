/* The bytes of a file being read: see input.h. */
#include "traces/input/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_STEP = 1 << 16 };

static bool cannot_read(struct format_input *input, int error)
{
    input->refused = true;
    failure_set(input->failure, FAILURE_INPUT, "%s: %s", input->name, strerror(error));
    return false;
}

bool format_no_memory(struct format_input *input)
{
    if (!input->refused)
        failure_set(input->failure, FAILURE_INTERNAL, "%s: out of memory while reading",
                    input->name);
    input->refused = true;
    return false;
}

/* Until the end of the file, whatever its size was said to be. */
static bool read_all(struct format_input *input, int file, size_t expected)
{
    size_t room = expected + 1 > READ_STEP ? expected + 1 : READ_STEP;
    unsigned char *data = malloc(room);
    input->data = data;
    while (data) {
        if (input->size + 1 >= room) {
            unsigned char *larger = room <= FORMAT_BYTES_MAX ? realloc(data, room * 2) : NULL;
            if (!larger)
                return format_no_memory(input);
            input->data = data = larger;
            room *= 2;
        }
        ssize_t got = read(file, data + input->size, room - input->size - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cannot_read(input, errno);
        if (got == 0)
            break;
        input->size += (size_t)got;
    }
    if (!data)
        return format_no_memory(input);
    data[input->size] = 0;
    return true;
}

bool format_input_open(struct format_input *input, const char *path, struct failure *failure)
{
    *input = (struct format_input){.name = path, .failure = failure};
    int file = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0)
        return cannot_read(input, errno);
    bool done = fstat(file, &status) == 0;
    if (!done)
        cannot_read(input, errno);
    size_t expected = done && S_ISREG(status.st_mode) ? (size_t)status.st_size : 0;
    if (done && expected > FORMAT_BYTES_MAX) {
        failure_set(failure, FAILURE_INPUT, "%s: larger than 8 GiB", path);
        input->refused = true;
        done = false;
    }
    done = done && read_all(input, file, expected);
    if (file != STDIN_FILENO)
        close(file);
    return done;
}

bool format_input_copy(struct format_input *input, const char *name, const void *data, size_t size,
                       struct failure *failure)
{
    *input = (struct format_input){.name = name, .failure = failure};
    unsigned char *copy = malloc(size + 1);
    if (!copy)
        return format_no_memory(input);
    if (size)
        memcpy(copy, data, size);
    copy[size] = 0;
    input->data = copy;
    input->size = size;
    return true;
}

void format_input_release(struct format_input *input)
{
    union {
        const unsigned char *read_only;
        void *owned;
    } data = {.read_only = input->data};
    free(data.owned);
    input->data = NULL;
    input->size = 0;
}

bool format_refuse(struct format_input *input, size_t offset, const char *format, ...)
{
    char text[400];
    va_list arguments;
    if (input->refused)
        return false;
    input->refused = true;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (input->binary) {
        failure_set(input->failure, FAILURE_INPUT, "%s: byte %zu: %s", input->name, offset, text);
        return false;
    }
    size_t line = 1, start = 0;
    for (size_t i = 0; i < offset && i < input->size; i++)
        if (input->data[i] == '\n') {
            line++;
            start = i + 1;
        }
    failure_set(input->failure, FAILURE_INPUT, "%s:%zu:%zu: %s", input->name, line,
                offset - start + 1, text);
    return false;
}

bool format_grow(struct format_input *input, void *table, size_t count, size_t *room, size_t size)
{
    void *rows;
    if (count < *room)
        return true;
    memcpy(&rows, table, sizeof rows);
    size_t wanted = *room ? *room * 2 : 16;
    void *larger = wanted <= FORMAT_ROWS_MAX ? realloc(rows, wanted * size) : NULL;
    if (!larger)
        return format_no_memory(input);
    memcpy(table, &larger, sizeof larger);
    *room = wanted;
    return true;
}

bool format_index_add(struct format_input *input, struct format_index *index, uint64_t key,
                      uint32_t value)
{
    if (!format_grow(input, &index->rows, index->count, &index->room, sizeof *index->rows))
        return false;
    index->rows[index->count++] = (struct format_index_row){.key = key, .value = value};
    return true;
}

/* Equal keys keep the order of their values, which grow as rows are added. */
static int row_order(const void *left, const void *right)
{
    const struct format_index_row *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->value > b->value) - (a->value < b->value);
}

size_t format_index_sort(struct format_index *index)
{
    bool ordered = true;
    for (size_t i = 1; i < index->count && ordered; i++)
        ordered = row_order(&index->rows[i - 1], &index->rows[i]) <= 0;
    if (!ordered)
        qsort(index->rows, index->count, sizeof *index->rows, row_order);
    index->sorted = true;
    for (size_t i = 1; i < index->count; i++)
        if (index->rows[i].key == index->rows[i - 1].key)
            return i;
    return index->count;
}

const struct format_index_row *format_index_find(const struct format_index *index, uint64_t key)
{
    size_t low = 0, high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->rows[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < index->count && index->rows[low].key == key ? &index->rows[low] : NULL;
}

void format_index_release(struct format_index *index)
{
    free(index->rows);
    *index = (struct format_index){0};
}

const char *format_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

size_t format_text_begin(const struct format_input *input)
{
    return input->size >= 3 && memcmp(input->data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

struct trace *format_finish(struct format_input *input, struct trace *trace)
{
    struct failure failure = {0};
    if (!input->refused && trace_finish(trace, &failure) && trace_check(trace, &failure))
        return trace;
    if (!input->refused) {
        input->refused = true;
        failure_set(input->failure, failure.code, "%s: %s", input->name, failure.text);
    }
    trace_free(trace);
    return NULL;
}

uint32_t format_world_add(struct format_input *input, struct trace *trace, const char *name)
{
    struct trace_comm world = {
        .id = 1, .size = trace->ranks, .parent = TRACE_NO, .adjoint_of = TRACE_NO};
    uint32_t index = TRACE_NO;
    snprintf(world.name, sizeof world.name, "%s", name);
    world.members = malloc(trace->ranks * sizeof *world.members);
    for (uint32_t rank = 0; world.members && rank < trace->ranks; rank++)
        world.members[rank] = (int32_t)rank;
    if (world.members)
        index = trace_add_comm(trace, &world);
    free(world.members);
    if (index == TRACE_NO)
        format_no_memory(input);
    return index;
}

uint32_t format_type_by_name(const char *name)
{
    for (uint32_t type = 0x200; type < 0x300; type++)
        if (strcmp(trace_type_name(type), name) == 0 && strcmp(name, "?") != 0)
            return type;
    return 0;
}

uint32_t format_reduce_by_name(const char *name)
{
    for (uint32_t reduce = 1; reduce < 0x40; reduce++)
        if (strcmp(trace_reduce_name(reduce), name) == 0 && strcmp(name, "?") != 0)
            return reduce;
    return 0;
}
