/* What the ranks print, kept in lines: see rank_output.h. */
#include "cli/running/rank_output.h"

#include "cli/running/printed.h"

#include "sim/libc/output.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* An unfinished line. Most are short; what does not fit here goes on in the child's own memory. */
enum { LINE_ROOM = 252 };
struct line {
    uint32_t length;
    char text[LINE_ROOM];
    struct print_hash printed; /* all that came, whether or not it is shown */
};

/* The child's: the rest of long lines, and files that took a stream's place. */
struct more {
    char *text;
    size_t length, room;
    FILE *file;
};

struct rank_output {
    int ranks;
    uint8_t tag, silent, finished;
    uint32_t unfinished; /* lines of some length */
    struct line lines[]; /* two for each rank */
};

/* The child's, used under the lock: where lines are put together before they are written, and two
 * for each rank, made at first need. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct more page, *mores;

static size_t output_bytes(int ranks)
{
    return sizeof(struct rank_output) + 2 * (size_t)ranks * sizeof(struct line);
}

struct rank_output *rank_output_new(int ranks, bool tag)
{
    struct rank_output *output = mmap(NULL, output_bytes(ranks), PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (output == MAP_FAILED)
        return NULL;
    output->ranks = ranks;
    output->tag = tag;
    return output;
}

void rank_output_free(struct rank_output *output, int ranks)
{
    if (output)
        munmap(output, output_bytes(ranks));
}

/* Without memory the text is lost: there is nothing better to do with it. */
static void append(struct more *to, const char *text, size_t size)
{
    if (size == 0) /* nothing has no address */
        return;
    if (to->length + size > to->room) {
        size_t room = 2 * (to->length + size);
        char *larger = realloc(to->text, room);
        if (!larger)
            return;
        to->text = larger;
        to->room = room;
    }
    memcpy(to->text + to->length, text, size);
    to->length += size;
}

static void page_write(void)
{
    for (size_t done = 0; done < page.length;) {
        ssize_t wrote = write(STDERR_FILENO, page.text + done, page.length - done);
        if (wrote < 0 && errno != EINTR)
            break;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    page.length = 0;
}

static struct more *more_of(struct rank_output *output, size_t line)
{
    if (!mores)
        mores = calloc(2 * (size_t)output->ranks, sizeof *mores);
    return mores ? &mores[line] : NULL;
}

/* Moves the line to the page: tag, what was waiting, and these bytes. */
static void line_out(struct rank_output *output, size_t number, const char *text, size_t size)
{
    struct line *line = &output->lines[number];
    struct more *more = mores ? &mores[number] : NULL;
    char tag[24];
    if (output->tag)
        append(&page, tag, (size_t)snprintf(tag, sizeof tag, "[%zu] ", number / 2));
    append(&page, line->text, line->length < LINE_ROOM ? line->length : LINE_ROOM);
    if (more && more->length)
        append(&page, more->text, more->length);
    append(&page, text, size);
    output->unfinished -= line->length > 0;
    line->length = 0;
    if (more)
        more->length = 0;
}

static void line_keep(struct rank_output *output, size_t number, const char *text, size_t size)
{
    struct line *line = &output->lines[number];
    size_t fits = line->length < LINE_ROOM ? LINE_ROOM - line->length : 0;
    if (fits > size)
        fits = size;
    memcpy(line->text + line->length, text, fits);
    output->unfinished += !line->length && fits;
    line->length += (uint32_t)fits;
    struct more *more = fits < size ? more_of(output, number) : NULL;
    if (more)
        append(more, text + fits, size - fits);
}

/* Of what a rank prints its own order counts, not that among ranks. */
static void line_count(struct rank_output *output, size_t number, const char *text, size_t size)
{
    pthread_mutex_lock(&lock);
    print_hash_add(&output->lines[number].printed, text, size);
    pthread_mutex_unlock(&lock);
}

uint64_t rank_output_printed_of(const struct rank_output *output, int rank)
{
    return print_hash_value(&output->lines[2 * (size_t)rank].printed);
}

uint64_t rank_output_printed(const struct rank_output *output, int ranks)
{
    uint64_t hash = 0;
    for (size_t rank = 0; rank < (size_t)ranks; rank++)
        hash = (hash ^ print_hash_value(&output->lines[2 * rank].printed)) * 0x9e3779b97f4a7c15u;
    return hash;
}

static void take(void *context, int rank, int stream, const char *text, size_t size)
{
    struct rank_output *output = context;
    size_t number = (size_t)rank * 2 + (size_t)(stream - 1);
    if (!output->finished && rank >= 0 && rank < output->ranks)
        line_count(output, number, text, size);
    if (output->silent)
        return;
    pthread_mutex_lock(&lock);
    const char *end;
    if (rank < 0 || rank >= output->ranks) {
        append(&page, text, size);
    } else if (mores && mores[number].file) {
        fwrite(text, 1, size, mores[number].file);
        fflush(mores[number].file);
    } else {
        for (; size && (end = memchr(text, '\n', size)); text = end + 1) {
            size_t length = (size_t)(end + 1 - text);
            line_out(output, number, text, length);
            size -= length;
        }
        line_keep(output, number, text, size);
    }
    page_write();
    pthread_mutex_unlock(&lock);
}

static bool redirect(void *context, int rank, int stream, FILE *file)
{
    struct rank_output *output = context;
    if (rank < 0 || rank >= output->ranks)
        return false;
    pthread_mutex_lock(&lock);
    struct more *more = more_of(output, (size_t)rank * 2 + (size_t)(stream - 1));
    if (more && more->file)
        fclose(more->file);
    if (more)
        more->file = file;
    pthread_mutex_unlock(&lock);
    return more != NULL;
}

/* A process that a rank forks must not find the lock taken. */
static void lock_take(void)
{
    pthread_mutex_lock(&lock);
}

static void lock_give(void)
{
    pthread_mutex_unlock(&lock);
}

/* A handler of a signal may write while its thread is within malloc: what it says must have room. */
static void page_reserve(void)
{
    enum { ROOM = 16384 };
    if (page.text)
        return;
    page.text = malloc(ROOM);
    page.room = page.text ? ROOM : 0;
}

void rank_output_install(struct rank_output *output)
{
    page_reserve();
    pthread_atfork(lock_take, lock_give, lock_give);
    sim_libc_output(&(struct sim_output){take, redirect, output});
}

void rank_output_silence(struct rank_output *output)
{
    output->silent = true;
}

void rank_output_finish(struct rank_output *output, int ranks)
{
    output->finished = true;
    size_t count = output->silent || !output->unfinished ? 0 : 2 * (size_t)ranks;
    for (size_t number = 0; number < count; number++)
        if (output->lines[number].length)
            line_out(output, number, "\n", 1);
    page_write();
}
