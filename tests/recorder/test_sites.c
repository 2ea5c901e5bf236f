/* Call sites against lines that the test gives its own instructions: those that stand for no single line have that of the code before
 * them; each is found once; what cannot be read is told by its file. */
#include "recorder/loading/sites.h"
#include "tests/tap.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

/* Instructions, one behind the other, and the line the table of lines has for each. */
#define INSTRUCTIONS(row)                                                                          \
    row(0, 1001, 1001) row(1, 0, 1001) row(2, 0, 1001) row(3, 1002, 1002) row(4, 1003, 1003)       \
        row(5, 0, 1003) row(6, 1001, 1001) row(7, 0, 1001)
#define CODE(number, line, expected)                                                               \
    ".loc 1 " #line "\n.globl sites_instruction_" #number "\nsites_instruction_" #number           \
    ":\nnop\nnop\n"
#define DECLARED(number, line, expected) extern const char sites_instruction_##number[];
#define ROW(number, line, expected)      {sites_instruction_##number, expected},

INSTRUCTIONS(DECLARED)

static const struct {
    const char *code;
    int line;
} rows[] = {INSTRUCTIONS(ROW)};
enum { ROWS = sizeof rows / sizeof *rows };

__attribute__((noinline, used)) static void instructions(void)
{
    __asm__ volatile(INSTRUCTIONS(CODE));
}

static const struct trace_site *site_of(const struct trace *trace, uint32_t site)
{
    static const struct trace_site none;
    return site < trace->site_count ? &trace->sites[site] : &none;
}

int main(void)
{
    char own[4096], text[512];
    Dl_info info;
    struct trace *trace = trace_new(1);
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    struct sites *sites = sites_new(trace);
    if (!tap_ok(trace && sites && length > 0 && dladdr(rows[0].code, &info), "all is there"))
        return tap_done();
    own[length] = 0;
    uintptr_t base = (uintptr_t)info.dli_fbase;
    for (int i = 0; i < ROWS; i++) {
        uint32_t found = sites_find(sites, own, (uintptr_t)rows[i].code - base + 1);
        const struct trace_site *site = site_of(trace, found);
        tap_is_int(site->line, rows[i].line, "instruction %d has its line", i);
        tap_is_int(sites_find(sites, own, (uintptr_t)rows[i].code - base + 1), found,
                   "... and the same site when it is asked again");
        tap_ok(site->function && !strncmp(site->function, "sites_instruction_", 18),
               "... and a function");
    }
    tap_is_int(sites_find(sites, own, 0), TRACE_NO, "no address has no site");
    uint32_t absent = sites_find(sites, "/nowhere/at all.so", 77);
    trace_site_text(trace, absent, text, sizeof text);
    tap_is_str(text, "/nowhere/at all.so", "what cannot be read is told by its file");
    tap_is_int(site_of(trace, absent)->line, 0, "... without a line");
    if (!getcwd(own, sizeof own - 40))
        return 1;
    strcat(own, "/./not here.so");
    trace_site_text(trace, sites_find(sites, own, 9), text, sizeof text);
    tap_is_str(text, "not here.so", "paths are told from the working directory on");
    sites_free(sites);
    trace_free(trace);
    return tap_done();
}
