/* The standard streams of ranks: see output.h.
 *
 * libc has one stdout for all ranks. Here it becomes an unbuffered stream whose every write is
 * handed on with the rank that wrote. Calls of a rank that would buffer, close or reopen it for
 * everybody are caught. */
#include "sim/libc/output.h"

#include "sim/libc/common.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct sim_output taker;
static FILE *streams[3]; /* by descriptor; 0 is not ours */

/* 1 or 2 for our streams, else 0. */
static int number_of(const FILE *stream)
{
    if (!stream)
        return 0;
    return stream == streams[1] ? 1 : stream == streams[2] ? 2 : 0;
}

/* --- what is printed ahead of a rank's turn --- */

struct libc_kept {
    struct libc_kept *next;
    int descriptor;
    size_t size;
    char text[];
};

static bool keep(int descriptor, const void *text, size_t size)
{
    struct sim_libc_state *state = libc_hooks->current();
    struct libc_kept *kept = malloc(sizeof *kept + size);
    if (!kept)
        return false; /* rather too early than never */
    *kept = (struct libc_kept){.descriptor = descriptor, .size = size};
    memcpy(kept->text, text, size);
    struct libc_kept **last = &state->kept;
    while (*last)
        last = &(*last)->next;
    *last = kept;
    return true;
}

void sim_libc_output_kept(struct sim_libc_state *state)
{
    while (state->kept) {
        struct libc_kept *first = state->kept;
        state->kept = first->next;
        taker.text(taker.context, libc_hooks->number(), first->descriptor, first->text,
                   first->size);
        free(first);
    }
}

static void hand_on(int descriptor, const void *text, size_t size)
{
    if (libc_hooks->ahead && libc_hooks->ahead() && keep(descriptor, text, size))
        return;
    struct sim_libc_state *state = libc_hooks->current();
    if (state && state->kept)
        sim_libc_output_kept(state);
    taker.text(taker.context, libc_hooks->number(), descriptor, text, size);
}

static ssize_t take_stdout(void *cookie, const char *text, size_t size)
{
    (void)cookie;
    hand_on(1, text, size);
    return (ssize_t)size;
}

static ssize_t take_stderr(void *cookie, const char *text, size_t size)
{
    (void)cookie;
    hand_on(2, text, size);
    return (ssize_t)size;
}

bool sim_libc_output(const struct sim_output *output)
{
    FILE *out = fopencookie(NULL, "w", (cookie_io_functions_t){.write = take_stdout});
    FILE *err = fopencookie(NULL, "w", (cookie_io_functions_t){.write = take_stderr});
    if (!out || !err)
        return false;
    fflush(NULL);
    setvbuf(out, NULL, _IONBF, 0);
    setvbuf(err, NULL, _IONBF, 0);
    taker = *output;
    streams[1] = stdout = out;
    streams[2] = stderr = err;
    return true;
}

static ssize_t write_of(bool rank, int descriptor, const void *data, size_t size)
{
    LIBC_REAL(write);
    if ((descriptor != 1 && descriptor != 2) || !streams[descriptor] || !rank)
        return real(descriptor, data, size);
    hand_on(descriptor, data, size);
    return (ssize_t)size;
}

ssize_t write(int descriptor, const void *data, size_t size)
{
    return write_of(libc_rank(LIBC_CALLER) != NULL, descriptor, data, size);
}

ssize_t sim_libc_write(int descriptor, const void *data, size_t size)
{
    return write_of(true, descriptor, data, size);
}

int setvbuf(FILE *stream, char *buffer, int mode, size_t size)
{
    LIBC_REAL(setvbuf);
    return number_of(stream) ? 0 : real(stream, buffer, mode, size);
}

void setbuf(FILE *stream, char *buffer)
{
    LIBC_REAL(setbuf);
    if (!number_of(stream))
        real(stream, buffer);
}

void setbuffer(FILE *stream, char *buffer, size_t size)
{
    LIBC_REAL(setbuffer);
    if (!number_of(stream))
        real(stream, buffer, size);
}

void setlinebuf(FILE *stream)
{
    LIBC_REAL(setlinebuf);
    if (!number_of(stream))
        real(stream);
}

int fclose(FILE *stream)
{
    LIBC_REAL(fclose);
    return number_of(stream) ? 0 : real(stream);
}

int fileno(FILE *stream)
{
    LIBC_REAL(fileno);
    int number = number_of(stream);
    return number ? number : real(stream);
}

FILE *freopen(const char *path, const char *mode, FILE *stream)
{
    LIBC_REAL(freopen);
    if (stream == stdin && path)
        libc_shared_input(LIBC_CALLER);
    int number = number_of(stream);
    if (!number || !path || !libc_rank(LIBC_CALLER))
        return real(path, mode, stream);
    FILE *file = fopen(path, mode);
    if (!file)
        return NULL;
    if (taker.redirect(taker.context, libc_hooks->number(), number, file))
        return stream;
    fclose(file);
    errno = ENOMEM;
    return NULL;
}

/* Descriptors that ranks made of their stdout and stderr, to have them back later. */
enum { KEPT_MAX = 1024 };
static _Atomic unsigned char kept[KEPT_MAX];

int dup(int descriptor)
{
    LIBC_REAL(dup);
    int made = real(descriptor);
    bool ours = descriptor >= 0 && descriptor < 3 && streams[descriptor] && libc_rank(LIBC_CALLER);
    if (made >= 0 && made < KEPT_MAX)
        kept[made] = ours ? (unsigned char)descriptor : 0;
    return made;
}

/* Puts the rank's own stream back, or sends it to a file of its own. */
int dup2(int old, int new)
{
    LIBC_REAL(dup2);
    if (new == STDIN_FILENO && old != new)
        libc_shared_input(LIBC_CALLER);
    if ((new != 1 && new != 2) || !streams[new] || old == new || !libc_rank(LIBC_CALLER))
        return real(old, new);
    if (old >= 0 && old < KEPT_MAX && (kept[old] == new || old == 1 || old == 2))
        return taker.redirect(taker.context, libc_hooks->number(), new, NULL) ? new : -1;
    int copy = dup(old);
    FILE *file = copy < 0 ? NULL : fdopen(copy, "w");
    if (!file) {
        if (copy >= 0)
            close(copy);
        return -1;
    }
    setvbuf(file, NULL, _IONBF, 0);
    if (taker.redirect(taker.context, libc_hooks->number(), new, file))
        return new;
    fclose(file);
    errno = ENOMEM;
    return -1;
}
