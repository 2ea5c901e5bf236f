/* Call sites against lines that the test gives its own instructions: those that stand for no single line have that of the code before
 * them; each is found once; what cannot be read is told by its file. */
#include "recorder/loading/sites.h"
#include "tests/tap.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

/* Instructions, one behind the other, and the line the table of lines has for each. GNU's assembler has no line 0: clang makes a library of
 * them, too, where it is there. */
#define INSTRUCTIONS(row)                                                                          \
    row(0, 1001, 1001) row(1, 0, 1001) row(2, 0, 1001) row(3, 1002, 1002) row(4, 1003, 1003)       \
        row(5, 0, 1003) row(6, 1001, 1001) row(7, 0, 1001)
#define CODE(file, number, line)                                                                   \
    ".loc " file " " #line ";.globl sites_instruction_" #number ";sites_instruction_" #number      \
    ":;nop;nop;"
#define CODE_BY_GNU(number, line, expected)   CODE("1", number, line)
#define CODE_BY_CLANG(number, line, expected) CODE("0", number, line)
#define ROW(number, line, expected)           {"sites_instruction_" #number, expected},

static const struct {
    const char *name;
    int line;
} rows[] = {INSTRUCTIONS(ROW)};
enum { ROWS = sizeof rows / sizeof *rows };

__attribute__((noinline, used)) static void instructions(void)
{
#ifdef __clang__
    __asm__ volatile(INSTRUCTIONS(CODE_BY_CLANG));
#else
    __asm__ volatile(INSTRUCTIONS(CODE_BY_GNU));
#endif
}

static const struct trace_site *site_of(const struct trace *trace, uint32_t site)
{
    static const struct trace_site none;
    return site < trace->site_count ? &trace->sites[site] : &none;
}

/* Of the program itself, or of a library. */
static void lines_of(struct sites *sites, const struct trace *trace, const char *path,
                     void *library, const char *who)
{
    for (int i = 0; i < ROWS; i++) {
        Dl_info info;
        void *code = dlsym(library, rows[i].name);
        if (!tap_ok(code && dladdr(code, &info), "%s: instruction %d is there", who, i))
            continue;
        uintptr_t address = (uintptr_t)code - (uintptr_t)info.dli_fbase + 1;
        uint32_t found = sites_find(sites, path, address);
        const struct trace_site *site = site_of(trace, found);
        tap_is_int(site->line, rows[i].line, "... and has its line");
        tap_is_int(sites_find(sites, path, address), found, "... and the same site once more");
        tap_ok(site->function && strstr(site->function, "instruction"), "... and a function");
    }
}

static void lines_of_clang(struct sites *sites, const struct trace *trace)
{
    char folder[] = "/tmp/simrun-sites-XXXXXX", path[64], command[256];
    if (!tap_ok(mkdtemp(folder), "there is a folder"))
        return;
    snprintf(path, sizeof path, "%s/lines.c", folder);
    FILE *file = fopen(path, "w");
    if (file) {
        fprintf(file, "void instructions(void)\n{\n    __asm__ volatile(\"%s\");\n}\n",
                INSTRUCTIONS(CODE_BY_CLANG));
        fclose(file);
    }
    snprintf(command, sizeof command,
             "cd %s && clang -gdwarf-5 -O1 -fPIC -shared -o lines.so lines.c 2>/dev/null", folder);
    if (!file || system(command) != 0) {
        tap_skip(4 * ROWS, "clang is not there");
    } else {
        snprintf(path, sizeof path, "%s/lines.so", folder);
        void *library = dlopen(path, RTLD_NOW);
        lines_of(sites, trace, path, library, "clang's");
        if (library)
            dlclose(library);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    tap_is_int(system(command), 0, "the folder is gone");
}

/* From the working directory on, without ./ before it. */
static void told_by_path(struct sites *sites, const struct trace *trace)
{
    static const struct {
        bool here; /* behind the working directory */
        const char *path, *told;
    } paths[] = {{true, "/./not here.so", "not here.so"},
                 {true, "/a/not here.so", "a/not here.so"},
                 {true, " not here.so", NULL},
                 {false, "././not here.so", "not here.so"},
                 {false, ".not/here.so", ".not/here.so"},
                 {false, "n/not here.so", "n/not here.so"},
                 {false, "/.not here.so", "/.not here.so"}};
    char folder[3000], path[4096], text[4096];
    if (!getcwd(folder, sizeof folder))
        return;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        snprintf(path, sizeof path, "%s%s", paths[i].here ? folder : "", paths[i].path);
        trace_site_text(trace, sites_find(sites, path, 9), text, sizeof text);
        tap_is_str(text, paths[i].told ? paths[i].told : path, "a file is told as %s",
                   paths[i].told ? paths[i].told : "its whole path");
    }
}

int main(void)
{
    char own[4096], text[512];
    struct trace *trace = trace_new(1);
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    struct sites *sites = sites_new(trace);
    if (!tap_ok(trace && sites && length > 0, "all is there"))
        return tap_done();
    own[length] = 0;
    lines_of(sites, trace, own, RTLD_DEFAULT, "own");
    lines_of_clang(sites, trace);
    tap_is_int(sites_find(sites, own, 0), TRACE_NO, "no address has no site");
    uint32_t absent = sites_find(sites, "/nowhere/at all.so", 77);
    trace_site_text(trace, absent, text, sizeof text);
    tap_is_str(text, "/nowhere/at all.so", "what cannot be read is told by its file");
    tap_is_int(site_of(trace, absent)->line, 0, "... without a line");
    told_by_path(sites, trace);
    sites_free(sites);
    trace_free(trace);
    return tap_done();
}
