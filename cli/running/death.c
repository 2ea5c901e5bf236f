/* How the process of a run died: see death.h. */
#include "cli/running/death.h"

#include "recorder/loading/sites.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* The number behind `word` in a file of lines "word number"; -1: there is none. */
static long long counter(const char *path, const char *word)
{
    char line[256], name[64];
    long long value, found = -1;
    FILE *file = fopen(path, "re");
    while (file && found < 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "%63s %lld", name, &value) == 2 && !strcmp(name, word))
            found = value;
    if (file)
        fclose(file);
    return found;
}

/* Of our control group (version 2) where it can be read, else of the machine. */
static long long oom_kills(void)
{
    char line[512], path[640];
    long long kills = -1;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && kills < 0 && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "0::", 3) != 0)
            continue;
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.events", line + 3);
        kills = counter(path, "oom_kill");
    }
    if (file)
        fclose(file);
    return kills >= 0 ? kills : counter("/proc/vmstat", "oom_kill");
}

struct death_before death_before(void)
{
    return (struct death_before){.oom_kills = oom_kills()};
}

void death_text(int status, enum watch_end end, const struct board *board, char *text, size_t size)
{
    const char *when = board->outcome >= 0 ? " while gradients were checked" : "";
    if (end == WATCH_STOPPED)
        snprintf(text, size, "the process that ran the ranks was stopped by a signal%s", when);
    else if (WIFSIGNALED(status))
        snprintf(text, size, "the process that ran the ranks was killed by signal %d (%s)%s",
                 WTERMSIG(status), strsignal(WTERMSIG(status)), when);
    else if (board->vanished)
        snprintf(text, size, "the thread of a rank ended before the run was over%s", when);
    else
        snprintf(text, size,
                 "the process that ran the ranks ended with status %d before the run was over%s",
                 WEXITSTATUS(status), when);
}

/* The rank that ran when the process died. Ranks that are threads of their own run side by side:
 * the only one that stood in no call, else the one that did something last. */
static uint32_t rank_that_ran(const struct trace *trace, const struct board *board, bool *sure)
{
    uint32_t found = 0, candidates = 0;
    uint64_t latest = 0;
    *sure = true;
    if (board->running >= 0)
        return (uint32_t)board->running;
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        size_t end = trace->rank_begin[rank + 1];
        uint64_t at = end > trace->rank_begin[rank] ? trace->ops[end - 1].end : 0;
        if (trace->rank_info[rank].state != RANK_RUNNING)
            continue;
        if (!candidates++ || at > latest) {
            found = rank;
            latest = at;
        }
    }
    *sure = candidates == 1;
    return found;
}

static void add_note(struct trace *trace, const char *code, uint32_t rank, uint32_t site,
                     const char *text)
{
    size_t begin = trace->rank_begin[rank], end = trace->rank_begin[rank + 1];
    struct trace_note note = {.rank = rank, .op = TRACE_NO, .node = TRACE_NO, .site = TRACE_NO};
    snprintf(note.code, sizeof note.code, "%s", code);
    if (end > begin) {
        note.op = (uint32_t)(end - 1);
        note.site = site != TRACE_NO ? site : trace->ops[note.op].form->site;
    }
    note.text = strdup(text);
    if (note.text)
        trace_add_note(trace, &note);
    free(note.text);
}

static void note_kill(struct trace *trace, uint32_t rank, enum watch_end end,
                      struct death_before before)
{
    long long kills = oom_kills();
    if (end == WATCH_STOPPED)
        add_note(trace, "X007", rank, TRACE_NO,
                 "stopped by a signal (SIGSTOP or its like), and nobody continued it; look for "
                 "kill and raise in the program");
    else if (before.oom_kills >= 0 && kills > before.oom_kills)
        add_note(trace, "X007", rank, TRACE_NO,
                 "killed by the kernel, since the machine's memory, or that of its control group, "
                 "was used up; use less, or raise the limit");
    else
        add_note(trace, "X007", rank, TRACE_NO,
                 "killed by SIGKILL, which no program can catch; somebody sent it: the program "
                 "itself, a limit (ulimit -t), a batch system");
}

/* Other ranks ended well or wait; this one is the cause. */
static void note_exit(struct trace *trace, uint32_t rank, int status, bool alone)
{
    struct trace_rank *info = &trace->rank_info[rank];
    char text[200];
    info->state = RANK_FINISHED;
    info->exit_code = status;
    if (status)
        return; /* X002 */
    snprintf(text, sizeof text, "%s",
             alone ? "its thread has ended without MPI_Finalize and without a word: by the system "
                     "call exit, or by a filter of system calls that the program has set"
                   : "ended the whole process with status 0, without MPI_Finalize; by exec, by the "
                     "system call itself, or from a thread of its own");
    add_note(trace, "X008", rank, TRACE_NO, text);
}

/* The site of `place` of `rank`; TRACE_NO: not known. */
static uint32_t site_of(struct trace *trace, const struct board *board, const char *object,
                        uint32_t rank, uint64_t place)
{
    struct board_locate locate = {board, (int)trace->ranks, object};
    struct sites *sites = place ? sites_new(trace) : NULL;
    const char *file;
    uint64_t address;
    uint32_t site = TRACE_NO;
    if (sites && board_locate(&locate, rank, place, &file, &address))
        site = sites_find(sites, file, address + 1);
    sites_free(sites);
    return site;
}

/* A thread that called MPI where it may not ended the process before its rank could tell. */
static void note_stray(struct trace *trace, const struct board *board, const char *object)
{
    int rank = board->first_failure.stray.rank - 1;
    if (rank >= 0)
        add_note(trace, "M009", (uint32_t)rank,
                 site_of(trace, board, object, (uint32_t)rank, board->first_failure.stray.place),
                 board->first_failure.stray.text);
}

void death_note(struct trace *trace, int status, enum watch_end end, const struct board *board,
                struct death_before before, const char *object)
{
    bool sure;
    note_stray(trace, board, object);
    uint32_t rank = rank_that_ran(trace, board, &sure);
    struct trace_rank *info = &trace->rank_info[rank];
    if (end == WATCH_STOPPED || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) {
        note_kill(trace, rank, end, before);
    } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS && !before.caged) {
        add_note(trace, "X007", rank, TRACE_NO,
                 "killed by SIGSYS: a filter of system calls (seccomp) that the program has set "
                 "itself ended it at one of them");
    } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) {
        add_note(
            trace, "X011", rank, TRACE_NO,
            "the sandbox ended the program at a system call that it does not allow, made while "
            "all signals were blocked, as starting a process does (system, posix_spawn)");
    } else if (WIFSIGNALED(status)) {
        info->state = RANK_CRASHED;
        info->exit_code = WTERMSIG(status);
    } else {
        note_exit(trace, rank, WEXITSTATUS(status), board->vanished);
    }
    if (!sure)
        trace_add_metric(trace, "rank named is one of several that ran", (int32_t)rank, 1, "");
}

void death_note_standing(struct trace *trace, const struct board *board, const char *object)
{
    int rank = board->standing.rank >= 0 ? board->standing.rank : board->running;
    char text[200];
    for (size_t i = 0; i < trace->note_count; i++)
        if (!strcmp(trace->notes[i].code, "X003"))
            return;
    if (rank < 0)
        return;
    if (board->standing.rank >= 0)
        snprintf(text, sizeof text,
                 "the time limit passed while rank %d waited for something other than MPI, in a "
                 "call that a signal interrupts, as poll and sigsuspend are",
                 rank);
    else
        snprintf(
            text, sizeof text,
            "the time limit passed while rank %d ran and did not answer: another process traces "
            "it, or a system call that it made does not return",
            rank);
    add_note(trace, "X003", (uint32_t)rank,
             site_of(trace, board, object, (uint32_t)rank,
                     board->standing.rank >= 0 ? board->standing.place : 0),
             text);
}
