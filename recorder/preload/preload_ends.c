/* The ends of a rank's process: see preload_ends.h. */
#include "recorder/preload/preload_ends.h"

#ifdef RECORDER_PRELOADED

#include "recorder/rank.h"
#include "recorder/recorder.h"
#include "traces/trace/trace.h"

#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

static const int fatal_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
enum { FATAL_SIGNALS = sizeof fatal_signals / sizeof *fatal_signals };

static struct {
    struct record_rank *info; /* NULL: finalized */
    pid_t process;
    char path[4096];
    size_t offset;
    uintptr_t start, end; /* of the program's own code */
    struct sigaction before[FATAL_SIGNALS];
    MPI_Errhandler handler;
} ends;

static uintptr_t faulted_at(const void *context)
{
    uintptr_t at = 0;
#if defined __x86_64__
    at = (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined __aarch64__
    at = (uintptr_t)((const ucontext_t *)context)->uc_mcontext.pc;
#else
    (void)context;
#endif
    return at >= ends.start && at < ends.end ? at : 0;
}

static void note_end(enum rank_state state, int code, uintptr_t site)
{
    struct record_rank *info = ends.info;
    if (!info || info->ended || getpid() != ends.process)
        return;
    info->exit_code = code;
    info->has_crash_site = site != 0;
    info->crash_site = site ? site + 1 : 0; /* as a return address: behind the instruction */
    info->ended = (uint8_t)(1 + state);
}

/* Whoever had the signal gets it: a fault comes again when this returns, abort()'s is raised. */
static void noted(int number, siginfo_t *what, void *context)
{
    note_end(RANK_CRASHED, number, faulted_at(context));
    for (int i = 0; i < FATAL_SIGNALS; i++)
        if (fatal_signals[i] == number)
            sigaction(number, &ends.before[i], NULL);
    if (what->si_code <= 0 || number == SIGABRT)
        raise(number);
}

/* After MPI_Finalize the file is closed, and a code is all that there is to add. */
static void add_code(int code)
{
    int file = open(ends.path, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return;
    int32_t value = code;
    if (pwrite(file, &value, sizeof value,
               (off_t)(ends.offset + offsetof(struct record_rank, exit_code))) < 0)
        fprintf(stderr, "libsimrecord: %s: the exit code could not be added\n", ends.path);
    close(file);
}

static void exited(int code, void *unused)
{
    (void)unused;
    if (ends.info)
        note_end(RANK_FINISHED, code, 0);
    else if (code && getpid() == ends.process)
        add_code(code);
}

/* The first module is the program. */
static int note_program(struct dl_phdr_info *module, size_t size, void *unused)
{
    (void)size, (void)unused;
    for (int i = 0; i < module->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &module->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && part->p_flags & PF_X) {
            ends.start = module->dlpi_addr + part->p_vaddr;
            ends.end = ends.start + part->p_memsz;
        }
    }
    return 1;
}

/* Open MPI takes some of these in MPI_Init to print a backtrace; a program's own are its affair. */
static bool is_of_the_program(const struct sigaction *action)
{
    uintptr_t handler = (uintptr_t)action->sa_sigaction;
    return action->sa_handler != SIG_DFL && handler >= ends.start && handler < ends.end;
}

/* ---- calls that fail ---- */

/* The name of the call that is under way, "" where the recorder does not know it. */
static const char *call_name(void)
{
    struct recorder_rank *me = recorder_enter();
    const struct record_op *current = me ? me->self->current : NULL;
    const char *name =
        current && current->state == STATE_BLOCKED ? op_kind_name(current->head.small) : "";
    recorder_leave(me);
    return name;
}

/* In the place of MPI_ERRORS_ARE_FATAL, which is called next. */
static void failed(MPI_Comm *comm, int *code, ...)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int class = *code, length;
    const char *name = call_name();
    PMPI_Error_class(*code, &class);
    PMPI_Error_string(class, text, &length);
    if (ends.info && getpid() == ends.process) {
        record_failure(class, NULL);
        record_note(class == MPI_ERR_TRUNCATE ? "M007" : "M009", "%s%s%s%s", *name ? "MPI_" : "",
                    name, *name ? ": " : "", text);
        note_end(RANK_ABORTED, class, 0);
    }
    PMPI_Comm_set_errhandler(*comm, MPI_ERRORS_ARE_FATAL);
    PMPI_Comm_call_errhandler(*comm, *code);
}

static void watch_errors(MPI_Comm comm)
{
    MPI_Errhandler handler;
    if (PMPI_Comm_get_errhandler(comm, &handler) == MPI_SUCCESS && handler == MPI_ERRORS_ARE_FATAL)
        PMPI_Comm_set_errhandler(comm, ends.handler);
}

/* The program is not to see ours. */
int MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *handler)
{
    int error = PMPI_Comm_get_errhandler(comm, handler);
    if (error == MPI_SUCCESS && ends.info && *handler == ends.handler) {
        PMPI_Errhandler_free(handler);
        *handler = MPI_ERRORS_ARE_FATAL;
    }
    return error;
}

void preload_ends_begin(struct record_rank *info, const char *path, size_t offset)
{
    ends.info = info;
    ends.process = getpid();
    ends.offset = offset;
    if (!realpath(path, ends.path))
        ends.path[0] = 0;
    dl_iterate_phdr(note_program, NULL);
    on_exit(exited, NULL);
    for (int i = 0; i < FATAL_SIGNALS; i++) {
        struct sigaction ours = {.sa_sigaction = noted, .sa_flags = SA_SIGINFO | SA_ONSTACK};
        struct sigaction *before = &ends.before[i];
        if (!sigaction(fatal_signals[i], NULL, before) && before->sa_handler != SIG_IGN &&
            !is_of_the_program(before))
            sigaction(fatal_signals[i], &ours, NULL);
    }
    if (PMPI_Comm_create_errhandler(failed, &ends.handler) == MPI_SUCCESS) {
        watch_errors(MPI_COMM_WORLD);
        watch_errors(MPI_COMM_SELF);
    }
}

void preload_ends_finalized(void)
{
    ends.info = NULL;
}

#endif
