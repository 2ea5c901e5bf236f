/* Programs and their private images: what sim/programs/loader.h promises, for the three loaders and
 * for files built in many ways. The programs under tests/programs are compiled here into a folder
 * of this run. */
#include "sim/programs/loader.h"

#include "sim/libc/hooks.h"
#include "tests/tap.h"

#include <execinfo.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
enum { THREAD_SANITIZER = 1 };
#else
enum { THREAD_SANITIZER = 0 };
#endif

#if defined(__SANITIZE_ADDRESS__)
enum { ADDRESS_SANITIZER = 1 };
#else
enum { ADDRESS_SANITIZER = 0 };
#endif

#if defined(__x86_64__)
enum { THREAD_LOCAL_RESERVE = 1 };
#else
enum { THREAD_LOCAL_RESERVE = 0 };
#endif

static char folder[64];
static struct failure failure;

/* Compiles tests/programs/`source` with `flags` to `name` in the folder. False if the compiler
 * cannot. */
static bool build(const char *name, const char *source, const char *flags)
{
    char command[512];
    snprintf(command, sizeof command, "cc -O2 -g -o %s/%s tests/programs/%s %s 2>/dev/null", folder,
             name, source, flags);
    return system(command) == 0;
}

static const char *in_folder(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Calls main of an image with one number as argument. */
static int call(const struct sim_program *program, int index, int number)
{
    char name[] = "program", text[16];
    snprintf(text, sizeof text, "%d", number);
    char *arguments[] = {name, text, NULL};
    return sim_program_main(program, index)(2, arguments, environ);
}

static struct sim_program *open_within(const char *path, enum sim_loader kind, int images,
                                       long maps_max)
{
    struct sim_program_options options = {.kind = kind, .images = images, .maps_max = maps_max};
    return sim_program_open_as(path, &options, &failure);
}

/* Opens, makes the images, calls each; -1 if that is not possible. Otherwise all their statuses,
 * or-ed. */
static int run_images(const char *name, enum sim_loader kind, int images, long maps_max, bool again)
{
    struct sim_program *program = open_within(in_folder(name), kind, images, maps_max);
    if (!program)
        return -1;
    int wrong = 0;
    for (int i = 0; i < images && wrong >= 0; i++)
        wrong = sim_program_image(program, i, &failure) ? -1 : wrong;
    for (int i = 0; i < images && wrong >= 0; i++)
        wrong |= call(program, i, i + 1);
    for (int i = 0; again && i < images && wrong >= 0; i++)
        wrong = sim_program_reset(program, i, &failure) ? -1 : wrong | call(program, i, i + 1);
    sim_program_close(program);
    return wrong;
}

static const char SHARED_FLAGS[] = "-shared -fPIC -ftls-model=global-dynamic";

/* Every way of building x every way of making images. A way the compiler here has not got is
 * skipped. */
static void test_builds(void)
{
    static const struct {
        const char *name, *flags;
    } ways[] = {
        {"plain.so", "-shared -fPIC -ftls-model=global-dynamic -DWITH_THREAD_LOCALS"},
        {"compact.so", "-shared -fPIC -ftls-model=global-dynamic -DWITH_THREAD_LOCALS "
                       "-Wl,-z,noseparate-code,-z,norelro"},
        {"packed.so", "-shared -fPIC -DWITH_THREAD_LOCALS -Wl,-z,pack-relative-relocs"},
        {"sysv.so", "-shared -fPIC -DWITH_THREAD_LOCALS -Wl,--hash-style=sysv -s"},
        {"now.so", "-shared -fPIC -DWITH_THREAD_LOCALS -fno-plt -Wl,-z,now -Wl,-Bsymbolic"},
        {"executable", "-fPIE -pie"},
        {"stripped", "-fPIE -pie -s"},
        {"lazy", "-fPIE -pie -Wl,-z,lazy -s"},
        {"clang.so", "-shared -fPIC -DWITH_THREAD_LOCALS -fuse-ld=lld"},
        {"descriptors.so", "-shared -fPIC -DWITH_THREAD_LOCALS -mtls-dialect=gnu2"},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        bool dlopen_too = strcmp(ways[i].name, "descriptors.so") != 0;
        if (!build(ways[i].name, "private.c", ways[i].flags)) {
            tap_skip(3, "the compiler here has not got what %s needs", ways[i].name);
            continue;
        }
        tap_is_int(run_images(ways[i].name, SIM_LOADER_CLONE, 5, 1000, true), 0,
                   "%s: five mapped images keep their variables to themselves, also when put back",
                   ways[i].name);
        tap_is_int(run_images(ways[i].name, SIM_LOADER_CLONE, 5, 1, true), 0,
                   "%s: five copied images do", ways[i].name);
        if (dlopen_too)
            tap_is_int(run_images(ways[i].name, SIM_LOADER_DLOPEN, 3, 0, true), 0,
                       "%s: three images by dlopen do", ways[i].name);
        else
            tap_skip(1, "%s: left to the dynamic linker", ways[i].name);
        if (tap_state.failed)
            tap_note("%s", failure.text);
    }
}

static void test_shared(void)
{
    struct sim_program *program =
        sim_program_open(in_folder("plain.so"), SIM_LOADER_SHARED, 1000, &failure);
    bool made = program && !sim_program_image(program, 0, &failure) &&
                !sim_program_image(program, 999, &failure);
    tap_ok(made && sim_program_main(program, 0) == sim_program_main(program, 999),
           "the shared loader has one image for all ranks");
    tap_ok(made && call(program, 0, 1) == 0 && call(program, 999, 1) != 0,
           "and their variables are the same");
    tap_ok(made && !sim_program_reset(program, 5, &failure) && call(program, 7, 1) == 0,
           "until it is put back");
    sim_program_close(program);
}

/* A program that has nothing to keep apart is not taken apart; each thing that would be is seen. */
static void test_common(void)
{
    static const struct {
        const char *flags, *strategy, *what;
    } ways[] = {
        {"", "common", "constants"},
        {"-Wl,-z,noseparate-code,-z,norelro", "common", "constants beside the code"},
        {"-DVARIABLE='char spare'", "mapped", "a byte"},
        {"-DVARIABLE='int spare = 5'", "mapped", "a word with a value"},
        {"-DVARIABLE='static const char *volatile spare = \"x\"'", "mapped", "an address"},
        {"-DVARIABLE='_Thread_local int spare'", "mapped", "a thread-local"},
        {"-DLOCAL='_Bool completed'", "mapped", "a variable named as the start files name theirs"},
        {"-DOPTIONS", "mapped", "the state of getopt"},
        {"-DCONSTRUCTOR", "mapped", "a constructor"},
        {"-s", "mapped", "nothing known, stripped"},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char flags[256];
        snprintf(flags, sizeof flags, "%s %s", SHARED_FLAGS, ways[i].flags);
        build("constant.so", "constant.c", flags);
        struct sim_program *program =
            sim_program_open(in_folder("constant.so"), SIM_LOADER_CLONE, 3, &failure);
        bool made = program && !sim_program_image(program, 0, &failure) &&
                    !sim_program_image(program, 2, &failure);
        tap_is_str(program ? sim_program_strategy(program) : NULL, ways[i].strategy,
                   "a program with %s: its images are %s", ways[i].what, ways[i].strategy);
        bool one = made && sim_program_main(program, 0) == sim_program_main(program, 2);
        tap_ok(made && one == !strcmp(ways[i].strategy, "common") && call(program, 0, 1) == 41 &&
                   call(program, 2, 2) == 42 && !sim_program_reset(program, 2, &failure) &&
                   call(program, 2, 3) == 43,
               "each of them runs, and runs again");
        sim_program_close(program);
    }
}

static void test_locate(void)
{
    uint64_t offsets[3] = {0, 0, 0}, outside;
    void *told[2][3] = {0};
    build("teller.so", "teller.c", SHARED_FLAGS);
    struct sim_program *program =
        sim_program_open(in_folder("teller.so"), SIM_LOADER_CLONE, 3, &failure);
    bool made = program && !sim_program_image(program, 0, &failure) &&
                !sim_program_image(program, 2, &failure);
    if (!tap_ok(made, "two of three images can be made")) {
        tap_skip(4, "nothing to locate");
        return;
    }
    sim_program_main(program, 0)(0, (char **)told[0], environ);
    sim_program_main(program, 2)(0, (char **)told[1], environ);
    tap_ok(told[0][0] != told[1][0] && told[0][1] != told[1][1],
           "images have code and data at their own addresses");
    tap_ok(sim_program_locate(program, 0, (uintptr_t)told[0][0], &offsets[0]) &&
               sim_program_locate(program, 2, (uintptr_t)told[1][0], &offsets[1]) &&
               offsets[0] == offsets[1],
           "a return address has the same place in the file for every image");
    tap_ok(sim_program_locate(program, 2, (uintptr_t)sim_program_main(program, 2), &offsets[2]) &&
               offsets[2] < offsets[0] + 4096,
           "which is near main's");
    tap_ok(!sim_program_locate(program, 0, (uintptr_t)told[1][0], &outside) &&
               !sim_program_locate(program, 0, (uintptr_t)&failure, &outside),
           "an address of another image or of the launcher is not found");
    sim_program_close(program);
}

/* The sentence for a file that cannot be used. */
static const char *refusal(const char *path)
{
    snprintf(failure.text, sizeof failure.text, "accepted");
    failure.code = 0;
    struct sim_program *program = sim_program_open(path, SIM_LOADER_CLONE, 2, &failure);
    sim_program_close(program);
    return failure.code == FAILURE_INPUT || program ? failure.text : "wrong code";
}

static void refused(const char *path, const char *part, const char *name)
{
    const char *sentence = refusal(path);
    if (!tap_ok(strstr(sentence, part) && strstr(sentence, strrchr(path, '/') + 1),
                "%s is refused for what it is", name))
        tap_note("said: %s", sentence);
}

/* Copies a built file, changing one byte or cutting it short. */
static void damaged(const char *from, const char *to, long at, int value, long size)
{
    char command[256];
    snprintf(command, sizeof command, "cp %s/%s %s/%s", folder, from, folder, to);
    if (system(command))
        return;
    FILE *file = fopen(in_folder(to), "r+");
    if (at >= 0) {
        fseek(file, at, SEEK_SET);
        fputc(value, file);
    }
    fclose(file);
    if (size >= 0 && truncate(in_folder(to), size))
        tap_note("cannot cut");
}

static void test_refusals(void)
{
    build("mainless.so", "mainless.c", SHARED_FLAGS);
    build("unresolved.so", "unresolved.c", SHARED_FLAGS);
    build("needy.so", "teller.c", "-shared -fPIC -Wl,--no-as-needed -Wl,-soname,libgone.so.3");
    build("needing.so", "teller.c", "-shared -fPIC -Wl,--no-as-needed");
    build("static", "teller.c", "-static");
    build("static-pie", "teller.c", "-static-pie -fPIE");
    build("fixed", "teller.c", "-no-pie -fno-pie");
    build("object.o", "teller.c", "-c");
    build("initial-exec.so", "private.c",
          "-shared -fPIC -DWITH_THREAD_LOCALS -ftls-model=initial-exec");
    build("local-exec", "private.c", "-pie -fPIE -DWITH_THREAD_LOCALS");
    damaged("teller.so", "foreign.so", 18, 22, -1); /* e_machine: s390 */
    damaged("teller.so", "cut.so", -1, 0, 700);
    damaged("teller.so", "short.so", -1, 0, 30);
    damaged("teller.so", "empty.so", -1, 0, 0);
    char command[320];
    snprintf(command, sizeof command,
             "cc -shared -fPIC -o %s/needing.so tests/programs/teller.c -Wl,--no-as-needed "
             "%s/needy.so && rm %s/needy.so",
             folder, folder, folder);
    if (system(command))
        tap_note("cannot build needing.so");
    refused("tests/programs/teller.c", "not an ELF", "a text file");
    refused(in_folder("empty.so"), "not an ELF", "an empty file");
    refused(in_folder("short.so"), "truncated", "a file cut in its header");
    refused(in_folder("cut.so"), "truncated", "a file cut in its data");
    refused(in_folder("foreign.so"), "wrong architecture: built for s390",
            "a program for another processor");
    refused(in_folder("static"), "statically linked", "a static executable");
    refused(in_folder("static-pie"), "statically linked",
            "a static position-independent executable");
    refused(in_folder("fixed"), "-no-pie", "an executable bound to an address");
    refused(in_folder("object.o"), "must be linked", "an object file");
    refused(in_folder("mainless.so"), "no main", "a library without main");
    refused(in_folder("unresolved.so"), "symbols: variable_of_nobody, provided_by_nobody",
            "a program with unresolved symbols");
    refused(in_folder("needing.so"), "libgone.so.3", "a program whose library is missing");
    refused(in_folder("initial-exec.so"), "-ftls-model=global-dynamic",
            "a thread-local bound to the OS thread");
    refused(in_folder("local-exec"), "local-exec", "an executable with thread-locals");
    refused(in_folder("absent"), "No such file", "a file that is not there");
    refused(folder, "not a regular file", "a folder");
}

/* Damages every byte of the headers in turn: the parser may accept or refuse, but must come back.
 */
static void test_hostile(void)
{
    FILE *file = fopen(in_folder("teller.so"), "r");
    static unsigned char bytes[1 << 16];
    size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    int refusals = 0;
    if (file)
        fclose(file);
    for (size_t at = 16; at < 0x700 && at < size; at += 1) {
        unsigned char before = bytes[at];
        bytes[at] ^= (unsigned char)(1u << at % 8 | 0x80);
        if ((file = fopen(in_folder("hostile.so"), "w"))) {
            fwrite(bytes, 1, size, file);
            fclose(file);
        }
        bytes[at] = before;
        refusals += strcmp(refusal(in_folder("hostile.so")), "accepted") != 0;
    }
    tap_ok(refusals > 100, "a damaged file is refused or opened, never followed outside itself");
    tap_note("%d of %d damaged files refused", refusals, 0x700 - 16);
}

/* What launcher_looks saw. */
enum { FRAMES_MAX = 32 };
static struct {
    void *frames[FRAMES_MAX];
    int count;
} looked[2];
static int look_turn;

/* Called by tests/programs/deep.c. */
int launcher_looks(void);
int launcher_looks(void)
{
    looked[look_turn].count = backtrace(looked[look_turn].frames, FRAMES_MAX);
    return looked[look_turn].count;
}

/* The frames of a backtrace that lie in an image, as places in the file. */
static int frames_inside(const struct sim_program *program, int index, int turn,
                         uint64_t out[FRAMES_MAX])
{
    int count = 0;
    for (int i = 0; i < looked[turn].count; i++)
        count += sim_program_locate(program, index, (uintptr_t)looked[turn].frames[i], &out[count]);
    return count;
}

static void test_backtrace(long maps_max, const char *how)
{
    uint64_t inside[2][FRAMES_MAX];
    build("deep.so", "deep.c", "-shared -fPIC -fno-optimize-sibling-calls");
    struct sim_program *program =
        open_within(in_folder("deep.so"), SIM_LOADER_CLONE, 300, maps_max);
    if (!program || sim_program_image(program, 3, &failure) ||
        sim_program_image(program, 299, &failure)) {
        tap_ok(false, "images for a backtrace can be made (%s)", how);
        return;
    }
    look_turn = 0;
    call(program, 3, 0);
    look_turn = 1;
    call(program, 299, 0);
    int counts[2] = {frames_inside(program, 3, 0, inside[0]),
                     frames_inside(program, 299, 1, inside[1])};
    tap_is_int(counts[0], 6, "a backtrace goes through all frames of an image (%s)", how);
    tap_ok(counts[0] < looked[0].count - 2, "and on into the launcher that called it (%s)", how);
    tap_ok(counts[1] == counts[0] &&
               !memcmp(inside[0], inside[1], (size_t)counts[0] * sizeof inside[0][0]),
           "naming the same places for another image (%s)", how);
    sim_program_close(program);
}

/* The calling thread as a rank, for code that starts threads. */
static struct sim_libc_state this_rank;
static struct sim_libc_state *hook_current(void)
{
    return &this_rank;
}
static void hook_exit(int status, enum sim_exit how)
{
    (void)status, (void)how;
}
static void hook_yield(void)
{
}
static int members, strangers;
static void hook_thread_begin(struct sim_libc_state *parent)
{
    __atomic_fetch_add(parent == &this_rank ? &members : &strangers, 1, __ATOMIC_RELAXED);
}
static void hook_thread_end(struct sim_libc_state *parent)
{
    __atomic_fetch_add(&strangers, parent != &this_rank, __ATOMIC_RELAXED);
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

static void test_team(const char *compiler)
{
    static const struct sim_libc_hooks hooks = {.current = hook_current,
                                                .exit = hook_exit,
                                                .yield = hook_yield,
                                                .thread_begin = hook_thread_begin,
                                                .thread_end = hook_thread_end,
                                                .region_end = hook_region_end,
                                                .team = hook_team};
    char command[256];
    snprintf(command, sizeof command,
             "%s -O2 -shared -fPIC -fopenmp -o %s/%s-team.so tests/programs/team.c 2>/dev/null",
             compiler, folder, compiler);
    if (THREAD_SANITIZER || system(command)) {
        tap_skip(2, THREAD_SANITIZER ? "the thread sanitizer does not see how OpenMP synchronises"
                                     : "no such compiler");
        return;
    }
    char name[32];
    snprintf(name, sizeof name, "%s-team.so", compiler);
    struct sim_program *program = sim_program_open(in_folder(name), SIM_LOADER_CLONE, 3, &failure);
    int wrong = program ? 0 : -1;
    members = strangers = 0;
    sim_libc_use(&hooks);
    for (int round = 0; round < 2 && !wrong; round++)
        for (int i = 0; i < 3 && !wrong; i++) {
            sim_libc_init(&this_rank, program, i);
            wrong = sim_program_image(program, i, &failure) ? -1 : call(program, i, 0);
        }
    sim_libc_use(NULL);
    tap_ok(members == 2 * 3 * 3 * 3 && !strangers,
           "%s: a team's threads belong to the rank for each of its regions", compiler);
    tap_is_int(wrong, 0, "%s: they have thread-locals of their own, the rank keeps its", compiler);
    if (wrong)
        tap_note("%s", failure.text);
    sim_program_close(program);
}

/* A rank that is an OS thread, and holds the others up until all are under way. */
static struct own_thread {
    pthread_t thread;
    struct sim_program *program;
    pthread_barrier_t *barrier;
    struct sim_libc_state libc;
    int index, wrong;
} own_threads[4];
static _Thread_local struct own_thread *own_thread;

static struct sim_libc_state *own_current(void)
{
    return own_thread ? &own_thread->libc : NULL;
}
static void own_begin(struct sim_libc_state *parent)
{
    own_thread = (struct own_thread *)(void *)((char *)parent - offsetof(struct own_thread, libc));
}
static void own_end(struct sim_libc_state *parent)
{
    (void)parent;
    own_thread = NULL;
}

/* Called by tests/programs/fixed.c. */
void launcher_waits(void);
void launcher_waits(void)
{
    pthread_barrier_wait(own_thread->barrier);
}

static void *own_body(void *argument)
{
    own_thread = argument;
    sim_libc_init(&own_thread->libc, own_thread->program, own_thread->index);
    own_thread->wrong = sim_program_image(own_thread->program, own_thread->index, &failure);
    if (!own_thread->wrong)
        own_thread->wrong = call(own_thread->program, own_thread->index, own_thread->index + 1);
    else
        launcher_waits();
    own_thread = NULL;
    return NULL;
}

static void test_fixed(const char *name, const char *flags)
{
    static const struct sim_libc_hooks hooks = {.current = own_current,
                                                .exit = hook_exit,
                                                .yield = hook_yield,
                                                .thread_begin = own_begin,
                                                .thread_end = own_end,
                                                .region_end = hook_region_end,
                                                .team = hook_team};
    struct sim_program_options options = {
        .kind = SIM_LOADER_CLONE, .images = 4, .own_threads = true};
    pthread_barrier_t barrier;
    char with_folder[256];
    snprintf(with_folder, sizeof with_folder, "%s %s/stub.so", flags, folder);
    if (!build("stub.so", "stub.c", "-shared -fPIC -Wl,-soname,libmpi_abi.so.1") ||
        !build(name, "fixed.c", with_folder)) {
        tap_skip(1, "the compiler here has not got what %s needs", name);
        return;
    }
    struct sim_program *program = sim_program_open_as(in_folder(name), &options, &failure);
    if (!program || pthread_barrier_init(&barrier, NULL, 4)) {
        tap_ok(false, "%s: can be opened for OS threads", name);
        tap_note("%s", failure.text);
        return;
    }
    int wrong = 0;
    sim_libc_use(&hooks);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) {
            own_threads[i] =
                (struct own_thread){.program = program, .barrier = &barrier, .index = i};
            pthread_create(&own_threads[i].thread, NULL, own_body, &own_threads[i]);
        }
        for (int i = 0; i < 4; i++) {
            pthread_join(own_threads[i].thread, NULL);
            wrong |= own_threads[i].wrong;
        }
    }
    sim_libc_use(NULL);
    tap_is_int(
        wrong, 0,
        "%s: ranks that are OS threads have the thread-locals its code expects of the thread",
        name);
    pthread_barrier_destroy(&barrier);
    sim_program_close(program);
}

static void test_limits(void)
{
    struct sim_program *program =
        open_within(in_folder("compact.so"), SIM_LOADER_CLONE, 1000, 2000);
    tap_is_str(program ? sim_program_strategy(program) : NULL, "mapped",
               "two mappings an image are enough for a compact program");
    sim_program_close(program);
    program = open_within(in_folder("compact.so"), SIM_LOADER_CLONE, 1000, 1999);
    tap_is_str(program ? sim_program_strategy(program) : NULL, "copied",
               "with fewer its images are copied");
    sim_program_close(program);
    tap_ok(!sim_program_open(in_folder("compact.so"), SIM_LOADER_CLONE, 2000000000, &failure) &&
               strstr(failure.text, "images"),
           "images beyond all memory are refused before any is made");
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/test_loader.XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    test_builds();
    test_shared();
    test_common();
    test_locate();
    test_refusals();
    test_hostile();
    test_limits();
    test_backtrace(0, "mapped");
    test_backtrace(1, "copied");
    if (THREAD_LOCAL_RESERVE) {
        test_fixed("fixed", "-pie -fPIE");
        test_fixed("fixed-clang", "-pie -fPIE -s -fuse-ld=lld");
        test_fixed("fixed.so", "-shared -fPIC -ftls-model=initial-exec");
    } else {
        tap_skip(3, "only on x86-64 there is room for the thread-locals of executables");
    }
    test_team("gcc");
    /* gcc's leak checker crashes on sleeping threads of clang's OpenMP. */
    if (ADDRESS_SANITIZER)
        tap_skip(2, "gcc's leak checker and clang's OpenMP do not go together");
    else
        test_team("clang");
    char command[80];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return tap_done() | (system(command) != 0);
}
