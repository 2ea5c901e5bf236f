/* What libc keeps once per process is kept once per rank: sim/libc/hooks.h.
 *
 * A program runs five times at once as ranks that take turns at every step, and each must see
 * exactly what the same program sees as a process of its own. The ranks are a few lines of fibers
 * here, through the table of hooks. */
#include "sim/libc/hooks.h"

#include "sim/programs/loader.h"
#include "tests/tap.h"

#include <limits.h>
#include <stdlib.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { RANKS = 5, STACK_SIZE = 256 << 10, WORDS_MAX = 24 };

static struct rank {
    struct sim_libc_state libc;
    ucontext_t context;
    char *stack;
    bool ended;
    int status;
    enum sim_exit how;
    int argument_count;
    char *arguments[WORDS_MAX];
} ranks[RANKS];

static ucontext_t scheduler;
static struct sim_program *program;
static _Thread_local struct rank *current;
static _Thread_local struct sim_libc_state *parent_of_thread;
static int turns, threads_begun, threads_ended;

static struct sim_libc_state *hook_current(void)
{
    return current ? &current->libc : parent_of_thread;
}

static void hook_exit(int status, enum sim_exit how)
{
    current->status = status;
    current->how = how;
    current->ended = true;
    setcontext(&scheduler);
}

static void hook_yield(void)
{
    struct rank *me = current;
    turns++;
    swapcontext(&me->context, &scheduler);
}

static void hook_thread_begin(struct sim_libc_state *parent)
{
    parent_of_thread = parent;
    __atomic_fetch_add(&threads_begun, 1, __ATOMIC_RELAXED);
}

static void hook_thread_end(struct sim_libc_state *parent)
{
    __atomic_fetch_add(&threads_ended, parent == parent_of_thread, __ATOMIC_RELAXED);
}

static int hook_number(void)
{
    return current ? current->libc.image : -1;
}

static void hook_forget(void)
{
    current = NULL;
}

static void hook_region_end(struct sim_libc_state *state)
{
    (void)state;
}

static bool hook_team(struct sim_libc_state *state, enum sim_team_event event, uintptr_t what)
{
    (void)state, (void)event, (void)what;
    return false;
}

static const struct sim_libc_hooks hooks = {.current = hook_current,
                                            .number = hook_number,
                                            .exit = hook_exit,
                                            .forget = hook_forget,
                                            .yield = hook_yield,
                                            .thread_begin = hook_thread_begin,
                                            .thread_end = hook_thread_end,
                                            .region_end = hook_region_end,
                                            .team = hook_team};

static bool made_by_rank; /* images are made by their ranks rather than before */
static const char *process_name;
static struct failure failure;

static void rank_body(void)
{
    struct rank *me = current;
    if (made_by_rank && sim_program_image(program, me->libc.image, &failure))
        hook_exit(96, SIM_EXIT_NORMAL);
    int status =
        sim_program_main(program, me->libc.image)(me->argument_count, me->arguments, environ);
    sim_libc_finish(&me->libc, status);
    hook_exit(status, SIM_EXIT_NORMAL);
}

/* One turn of a rank; its body does not return. */
static void rank_turn(struct rank *rank)
{
    volatile bool back = false;
    current = rank;
    getcontext(&scheduler);
    if (!back) {
        back = true;
        setcontext(&rank->context);
    }
    current = NULL;
}

static char folder[64];

static char *format_path(char out[PATH_MAX], const char *name, int number)
{
    snprintf(out, PATH_MAX, "%s/%s.%d", folder, name, number);
    return out;
}

static void rank_start(int index, char *const *words)
{
    struct rank *rank = &ranks[index];
    char *stack = rank->stack ? rank->stack : malloc(STACK_SIZE);
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(stack, STACK_SIZE); /* frames of who left it by a jump */
#endif
    *rank = (struct rank){.stack = stack};
    sim_libc_init(&rank->libc, program, index);
    for (; words[rank->argument_count]; rank->argument_count++)
        rank->arguments[rank->argument_count] = words[rank->argument_count];
    getcontext(&rank->context);
    rank->context.uc_stack.ss_sp = stack;
    rank->context.uc_stack.ss_size = STACK_SIZE;
    rank->context.uc_link = NULL;
    makecontext(&rank->context, rank_body, 0);
}

/* Runs all ranks in turns; false if an image cannot be made. Rank i has its own file and seed in
 * words[1] and [3]. */
static bool run_ranks(char *const *words)
{
    static char files[RANKS][PATH_MAX], seeds[RANKS][16];
    for (int i = 0; i < RANKS; i++) {
        char *own[WORDS_MAX] = {0};
        for (int k = 0; words[k]; k++)
            own[k] = words[k];
        own[1] = format_path(files[i], "rank", i);
        snprintf(seeds[i], sizeof seeds[i], "%d", i + 1);
        own[3] = seeds[i];
        unlink(files[i]);
        if (!made_by_rank && sim_program_image(program, i, &failure))
            return false;
        rank_start(i, own);
    }
    for (int alive = RANKS; alive;) {
        alive = 0;
        for (int i = 0; i < RANKS; i++) {
            if (!ranks[i].ended)
                rank_turn(&ranks[i]);
            alive += !ranks[i].ended;
        }
    }
    for (int i = 0; i < RANKS; i++)
        sim_libc_release(&ranks[i].libc);
    return true;
}

/* The same as a process; its status, 128 + signal for a death. */
static int run_process(char *const *words, int index)
{
    char file[PATH_MAX], executable[PATH_MAX], seed[16], *own[WORDS_MAX] = {0};
    int status = -1;
    for (int k = 0; words[k]; k++)
        own[k] = words[k];
    own[1] = format_path(file, "process", index);
    snprintf(seed, sizeof seed, "%d", index + 1);
    own[3] = seed;
    unlink(file);
    snprintf(executable, sizeof executable, "%s/%s", folder, process_name);
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(98);
        execv(executable, own);
        _exit(97);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static size_t read_file(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(out, 1, size - 1, file) : 0;
    out[length] = 0;
    if (file)
        fclose(file);
    return length;
}

/* Shows the first line in which two texts differ. */
static void note_difference(const char *got, const char *expected)
{
    while (*got && *got == *expected)
        got++, expected++;
    tap_note("got      ...%.*s", (int)strcspn(got, "\n"), got);
    tap_note("expected ...%.*s", (int)strcspn(expected, "\n"), expected);
}

static void compare(const char *way, int index, int expected, bool *same_text, bool *same_status)
{
    static char texts[2][32768];
    char path[PATH_MAX];
    size_t rank_length = read_file(format_path(path, "rank", index), texts[0], sizeof texts[0]);
    read_file(format_path(path, "process", index), texts[1], sizeof texts[1]);
    if (!rank_length || strcmp(texts[0], texts[1])) {
        *same_text = false;
        tap_note("%s, rank %d", way, index);
        note_difference(texts[0], texts[1]);
    }
    if (ranks[index].status != expected)
        *same_status = false;
}

static void test_ways(const char *name)
{
    static const struct {
        const char *way;
        enum sim_exit how;
    } ways[] = {{"return", SIM_EXIT_NORMAL},       {"exit", SIM_EXIT_NORMAL},
                {"nested", SIM_EXIT_NORMAL},       {"thread", SIM_EXIT_NORMAL},
                {"immediate", SIM_EXIT_IMMEDIATE}, {"quick", SIM_EXIT_QUICK},
                {"abort", SIM_EXIT_ABORT},         {"return", SIM_EXIT_NORMAL},
                {"assert", SIM_EXIT_ASSERT}};
    static const char *const words[] = {"process", "",       "",           "",     "one",
                                        "-a",      "-b",     "value",      "two",  "-ab",
                                        "x",       "-cY",    "--alphab=q", "--al", "--beta",
                                        "-beta=3", "-alpha", "--",         "-a",   "three"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char copies[WORDS_MAX][16], *own[WORDS_MAX] = {0};
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            own[k] = strcpy(copies[k], k == 2 ? ways[i].way : words[k]);
        turns = 0;
        bool ran = run_ranks(own), same_text = ran, same_status = ran, same_how = ran;
        for (int rank = 0; rank < RANKS && ran; rank++) {
            compare(ways[i].way, rank, run_process(own, rank), &same_text, &same_status);
            same_how = same_how && ranks[rank].how == ways[i].how;
        }
        tap_ok(same_text, "%s, %s: each of five ranks in turns sees what a process sees", name,
               ways[i].way);
        tap_ok(same_status && same_how, "%s, %s: and ends as it does", name, ways[i].way);
        if (i == 0)
            tap_ok(turns > RANKS * 50, "%s: the ranks did take turns", name);
    }
}

/* Without a rank everything reaches libc: the launcher's own handlers, numbers, options. */
static void test_passing(void)
{
    struct sim_libc_state *none = sim_libc_current();
    tap_ok(!none, "nobody is a rank outside a world");
    srand(5);
    int first = rand();
    srand(5);
    tap_is_int(rand(), first, "the launcher's own numbers come from libc");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        exit(9);
    int status = 0;
    waitpid(child, &status, 0);
    tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 9, "and its exit ends the process");
}

static bool build(const char *name, const char *flags)
{
    char command[300];
    snprintf(command, sizeof command,
             "cc -O2 -g -fno-optimize-sibling-calls -o %s/%s tests/programs/process.c %s", folder,
             name, flags);
    return system(command) == 0;
}

static void test_program(const char *name, enum sim_loader kind, const char *process, bool by_rank)
{
    made_by_rank = by_rank;
    process_name = process;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    program = sim_program_open(path, kind, RANKS, &failure);
    if (!tap_ok(program, "%s can be opened", name)) {
        tap_note("%s", failure.text);
        return;
    }
    threads_begun = threads_ended = 0;
    test_ways(name);
    tap_ok(threads_begun == 90 && threads_ended == 90,
           "%s: threads belong to the ranks that start them", name);
    sim_program_close(program);
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/test_libc.XXXXXX");
    if (!mkdtemp(folder) || !build("process", "-pie -fPIE") ||
        !build("plain", "-pie -fPIE -DTHREAD_LOCAL=") ||
        !build("process.so", "-shared -fPIC -ftls-model=global-dynamic"))
        return 1;
    sim_libc_use(&hooks);
    test_passing();
#if defined(__SANITIZE_THREAD__)
    tap_skip(1, "the thread sanitizer does not follow fibers");
    return tap_done();
#endif
    test_program("process.so", SIM_LOADER_CLONE, "process", false);
    test_program("plain", SIM_LOADER_CLONE, "plain", true);
    test_program("process.so", SIM_LOADER_DLOPEN, "process", true);
    for (int i = 0; i < RANKS; i++)
        free(ranks[i].stack);
    char command[80];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return tap_done() | (system(command) != 0);
}
