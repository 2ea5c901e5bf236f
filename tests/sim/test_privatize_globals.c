/* Variables apart from the code: what sim/compile/privatize_globals.h and sim/programs/variables.h
 * promise. */

#include "sim/compile/privatize_globals.h"

#include "sim/compile/compile.h"
#include "sim/programs/loader.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <unistd.h>

static char folder[64];
static struct failure failure;

static const char *in_folder(const char *name)
{
    static char paths[2][128];
    static int turn;
    char *path = paths[turn++ % 2];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file) {
        fputs(text, file);
        fclose(file);
    }
}

#define VARIABLES                                                                                  \
    "\t.data\n\t.align 4\n"                                                                        \
    "number:\n\t.long\t5\n"                                                                        \
    "\t.local\tcommon\n\t.comm\tcommon,40,32\n"                                                    \
    "\t.bss\nzero:\n\t.zero\t8\n\t.text\n"

/* One instruction of a file that has the variables above. */
static void becomes(const char *instruction, const char *wanted, const char *what)
{
    char text[512];
    snprintf(text, sizeof text, "%s\t%s\n", VARIABLES, instruction);
    char *changed = separate_assembly(text);
    snprintf(text, sizeof text, "\n\t%s\n", wanted);
    if (!tap_ok(changed && strstr(changed, text), "%s", what))
        tap_note("%s", changed ? changed : "refused");
    free(changed);
}

static void test_instructions(void)
{
    becomes("movl\tnumber(%rip), %eax", "movl\t%gs:simrun.at.number, %eax", "a variable is read");
    becomes("addq\t$3, zero+4(%rip)", "addq\t$3, %gs:simrun.at.zero+4", "a part of one is changed");
    becomes("movq\t-8+common(%rip), %rax", "movq\t%gs:-8+simrun.at.common, %rax",
            "an offset may come first");
    becomes("call\t*zero(%rip)", "call\t*%gs:simrun.at.zero", "a function is called through one");
    becomes("leaq\tcommon+16(%rip), %r9", "rdgsbase %r9\n\tleaq simrun.at.common+16(%r9), %r9",
            "an address is base and offset");
    becomes("movq\tnumber@GOTPCREL(%rip), %rdx",
            "rdgsbase %rdx\n\tleaq simrun.at.number(%rdx), %rdx", "so it is instead of a slot");
    becomes("movq\tstdout@GOTPCREL(%rip), %rdx", "movq\tstdout@GOTPCREL(%rip), %rdx",
            "a variable of a library stays where it is");
    becomes("movsd\t.LC3(%rip), %xmm0", "movsd\t.LC3(%rip), %xmm0", "and so do constants");
    becomes("movl\tnumbers(%rip), %eax", "movl\tnumbers(%rip), %eax",
            "a name is not mistaken for a longer one");
}

static void refused(const char *lines, const char *what)
{
    char text[1024];
    snprintf(text, sizeof text, "%s%s", VARIABLES, lines);
    char *changed = separate_assembly(text);
    tap_ok(!changed, "refused: %s", what);
    free(changed);
}

static void test_refusals(void)
{
    char *plain = separate_assembly(VARIABLES "\tret\n");
    tap_ok(plain, "what follows is refused for its own sake");
    free(plain);
    refused("\t.section\t.tbss,\"awT\",@nobits\nmine:\n\t.zero\t4\n", "thread-locals");
    refused("\t.section\t.init_array,\"aw\"\n\t.quad\tbegin\n", "constructors");
    refused("\t.section\tfound_by_name,\"aw\"\n\t.quad\t1\n", "a section somebody looks for");
    refused("\tmovl\t%gs:4, %eax\n", "a segment of the program's own");
    refused("#APP\n\tincl number(%rip)\n#NO_APP\n", "inline assembly that names a variable");
    refused("#APP\n\t.pushsection .data\n#NO_APP\n", "inline assembly that goes elsewhere");
    refused("\tcmpq\tnumber@GOTPCREL(%rip), %rax\n", "an address that is compared in its slot");
    refused("\tleal\tnumber(%rip), %eax\n", "half an address");
    refused("\t.bss\n\t.align 8192\n", "more than a page of alignment");
    char *barrier = separate_assembly(VARIABLES "#APP\n# 3 \"a.c\" 1\n\tpause\n#NO_APP\n");
    tap_ok(barrier, "an instruction alone is no reason");
    free(barrier);
}

/* What separate_proved says of an assembly that was changed, and then tampered with. */
static void is_proved(const char *more, bool wanted, const char *what)
{
    char text[8192], command[512];
    char *changed = separate_assembly(VARIABLES "\t.globl\tmain\nmain:\n"
                                                "\tmovl\tnumber(%rip), %eax\n\tret\n");
    snprintf(text, sizeof text, "%s\t.text\n%s", changed ? changed : "", more);
    free(changed);
    write_text(in_folder("tampered.s"), text);
    snprintf(command, sizeof command, "cc -c %s -o %s", in_folder("tampered.s"),
             in_folder("tampered.o"));
    tap_ok(!system(command) && separate_proved(in_folder("tampered.o")) == wanted, "%s: %s", what,
           wanted ? "apart" : "not apart");
}

static void test_proof(void)
{
    is_proved("", true, "an assembly as it was changed");
    is_proved("\tmovl\tnumber(%rip), %eax\n", false, "a reference that was missed");
    is_proved("\tleaq\tzero+4(%rip), %rax\n", false, "an address that was missed");
    is_proved("\t.globl number\n\tmovq\tnumber@GOTPCREL(%rip), %rax\n", false,
              "a slot that was missed");
    is_proved("\t.section .rodata\n\t.long zero-.\n", false, "a distance kept as a constant");
    is_proved("\tcall\tsignal@PLT\n", false, "a handler of signals");
    is_proved("\tcall\tpthread_create@PLT\n", false, "a thread");
    is_proved("\t.data\n\t.long 4\n", false, "a variable elsewhere");
    is_proved("\t.section .init_array,\"aw\"\n\t.quad main\n", false, "a constructor");
    is_proved("\t.comm left,4,4\n", false, "a variable without a place");
    tap_ok(!separate_proved("/no/such/file") && !separate_proved("/dev/null"),
           "and what is no such file is not either");
}

/* How images of a source are made when there will be many. */
static const char *strategy_of(const char *source, const char *text)
{
    char object[1024];
    static char found[32];
    const char *path = in_folder(source);
    if (text)
        write_text(path, text);
    else
        path = source;
    found[0] = 0;
    if (sim_compile_many(path, object, sizeof object, &failure))
        return failure.text;
    struct sim_program *program = sim_program_open(object, SIM_LOADER_CLONE, 3, &failure);
    if (program)
        snprintf(found, sizeof found, "%s", sim_program_strategy(program));
    sim_program_close(program);
    return program ? found : failure.text;
}

static void test_programs(void)
{
    static const char *const compilers[] = {"gcc", "clang"};
    for (size_t i = 0; i < 2; i++) {
        setenv("CC", compilers[i], 1);
        tap_is_str(strategy_of("tests/programs/apart.c", NULL), "separate",
                   "%s: a program with variables of every kind", compilers[i]);
        tap_is_str(strategy_of("a.c", "int x = 1;\nint main(void) { return x++; }\n"), "separate",
                   "%s: one variable", compilers[i]);
        tap_is_str(strategy_of("b.c", "static int f(void) { return 2; }\n"
                                      "static int (*const table[])(void) = {f, f};\n"
                                      "int main(int c, char **v) { return table[c % 2](); }\n"),
                   "common", "%s: none but a table of functions", compilers[i]);
        tap_is_str(strategy_of("c.c", "static _Thread_local int x;\n"
                                      "int main(void) { return x++; }\n"),
                   "mapped", "%s: a thread-local", compilers[i]);
        tap_is_str(strategy_of("d.c", "#include <unistd.h>\nstatic int "
                                      "x;\n__attribute__((constructor)) static void f(void)"
                                      " { x = getpid(); }\nint main(void) { return x; }\n"),
                   "mapped", "%s: a constructor", compilers[i]);
        tap_is_str(strategy_of("e.c",
                               "#include <signal.h>\nstatic int x;\nstatic void f(int s) { x = "
                               "s; }\nint main(void) { signal(SIGUSR1, f); return x; }\n"),
                   "mapped", "%s: a handler of signals", compilers[i]);
        tap_is_str(strategy_of("f.c",
                               "#include <unistd.h>\nstatic int x;\nint main(int c, char **v) "
                               "{ return getopt(c, v, \"a\") + x++; }\n"),
                   "mapped", "%s: getopt", compilers[i]);
        tap_is_str(strategy_of("g.c", "/* simrun: cflags: -DX=1 */\nstatic int x = X;\n"
                                      "int main(void) { return x++; }\n"),
                   "mapped", "%s: options of its own", compilers[i]);
    }
    unsetenv("CC");
}

/* Images made, changed, put back; pointers lead where they should. */
static void test_blocks(void)
{
    char object[1024], name[] = "program";
    char *arguments[] = {name, NULL};
    write_text(in_folder("blocks.c"), "static int filled = 7, zero, *at = &filled, *to = &zero;\n"
                                      "static char large[3 << 20];\n"
                                      "int main(void) { *at += 1; *to += 2; large[2 << 20] += 3;\n"
                                      "return filled * 100 + zero * 10 + large[2 << 20]; }\n");
    int status = sim_compile_many(in_folder("blocks.c"), object, sizeof object, &failure);
    struct sim_program *program =
        status ? NULL : sim_program_open(object, SIM_LOADER_CLONE, 3, &failure);
    size_t stride;
    char *first = program ? sim_program_variables(program, &stride) : NULL;
    tap_ok(first, "a program with variables apart has a block for each image");
    bool good = first;
    for (int i = 0; i < 3 && good; i++) {
        good = !sim_program_image(program, i, &failure);
        separate_enter(first + (size_t)i * stride);
        for (int turn = 1; turn <= i + 1 && good; turn++)
            good = sim_program_main(program, i)(1, arguments, environ) ==
                   (7 + turn) * 100 + turn * 20 + turn * 3;
    }
    tap_ok(good, "each block begins as the source says and is its own");
    good = good && !sim_program_reset(program, 1, &failure);
    if (good)
        separate_enter(first + stride);
    tap_ok(good && sim_program_main(program, 1)(1, arguments, environ) == 823,
           "put back, it begins again");
    if (good)
        separate_enter(first + 2 * stride);
    tap_ok(good && sim_program_main(program, 2)(1, arguments, environ) == 1192,
           "and the others go on");
    sim_program_close(program);
    program = status ? NULL : sim_program_open(object, SIM_LOADER_DLOPEN, 2, &failure);
    tap_ok(!program && strstr(failure.text, "only the clone loader"),
           "another loader refuses such an object");
    sim_program_close(program);
}

/* Runs simrun and looks for `wanted` in what it says. */
static bool says(const char *words, const char *wanted)
{
    const char *own = getenv("SIMRUN");
    char command[512], line[256];
    snprintf(command, sizeof command, "'%s' --db none %s 2>&1", own ? own : "build/simrun", words);
    FILE *pipe = popen(command, "r");
    bool said = false;
    while (pipe && fgets(line, sizeof line, pipe))
        said |= strstr(line, wanted) != NULL;
    if (pipe)
        pclose(pipe);
    return said;
}

static void test_world(const char *options)
{
    char words[256];
    snprintf(words, sizeof words, "%s -n 520 tests/programs/apart.c", options);
    tap_ok(says(words, "520 of 520 ranks"), "520 ranks keep their variables to themselves%s%s",
           *options ? " with " : "", options);
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/simrun-separate-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    test_instructions();
    test_refusals();
    if (separate_possible()) {
        setenv("SIMRUN_CACHE", in_folder("cache"), 1);
        test_proof();
        test_programs();
        test_blocks();
        test_world("");
        test_world("--os-threads");
        test_world("--send rendezvous --seed 3");
        tap_ok(says("-n 520 scenarios/head-to-head.c", "scenarios/head-to-head.c:13"),
               "places in such a program have lines");
    } else {
        tap_skip(1, "this processor cannot set segments");
    }
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) ? 1 : tap_done();
}
