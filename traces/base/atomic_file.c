/* Files written whole: see atomic_file.h. */
#include "traces/base/atomic_file.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = sizeof signals / sizeof *signals };

/* The temporary file that a signal takes away. */
static const char *volatile underway;

static void give_up(int number)
{
    if (underway)
        unlink(underway);
    signal(number, SIG_DFL);
    raise(number);
}

static void signals_from_to(void (*from)(int), void (*to)(int))
{
    struct sigaction action;
    for (int i = 0; i < SIGNALS; i++)
        if (!sigaction(signals[i], NULL, &action) && !(action.sa_flags & SA_SIGINFO) &&
            action.sa_handler == from)
            signal(signals[i], to);
}

static bool refuse(const char *path, struct failure *failure)
{
    failure_set(failure, FAILURE_INTERNAL, "cannot write %s: %s", path, strerror(errno));
    return false;
}

bool whole_file_begin(struct whole_file *whole, const char *path, struct failure *failure)
{
    struct stat status;
    bool there = strcmp(path, "-") != 0 && stat(path, &status) == 0;
    *whole = (struct whole_file){.name = path};
    if (!strcmp(path, "-")) {
        whole->file = stdout;
        return true;
    }
    if (there && !S_ISREG(status.st_mode)) {
        whole->file = S_ISDIR(status.st_mode) ? (errno = EISDIR, NULL) : fopen(path, "we");
        return whole->file || refuse(path, failure);
    }
    whole->target = there ? realpath(path, NULL) : strdup(path);
    if (!whole->target ||
        asprintf(&whole->temporary, "%s.tmp%ld", whole->target, (long)getpid()) < 0) {
        free(whole->target);
        errno = ENOMEM;
        return refuse(path, failure);
    }
    underway = whole->temporary;
    signals_from_to(SIG_DFL, give_up);
    whole->file = fopen(whole->temporary, "we");
    if (whole->file)
        return true;
    int error = errno;
    signals_from_to(give_up, SIG_DFL);
    underway = NULL;
    free(whole->target);
    free(whole->temporary);
    errno = error;
    return refuse(path, failure);
}

bool whole_file_finish(struct whole_file *whole, bool good, struct failure *failure)
{
    errno = 0;
    bool written = !fflush(whole->file) && !ferror(whole->file);
    int error = errno ? errno : EIO;
    if (whole->file != stdout && fclose(whole->file) && written) {
        written = false;
        error = errno;
    }
    if (whole->temporary && good && written && rename(whole->temporary, whole->target)) {
        written = false;
        error = errno;
    }
    if (whole->temporary) {
        if (!good || !written)
            unlink(whole->temporary);
        signals_from_to(give_up, SIG_DFL);
        underway = NULL;
    }
    if (good && !written)
        failure_set(failure, FAILURE_INTERNAL, "cannot write %s: %s",
                    whole->file == stdout ? "to standard output" : whole->name, strerror(error));
    free(whole->target);
    free(whole->temporary);
    return good && written;
}
