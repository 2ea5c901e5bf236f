/* Timelines: valid JSON, paired arrows inside their slices, slices that do not overlap. Judged by
 * python3's own parser. */
#include "tests/formats/format_samples.h"

#include <unistd.h>

static const char judge[] =
    "import json, sys\n"
    "events = json.load(sys.stdin)['traceEvents']\n"
    "slices, starts, ends = {}, {}, {}\n"
    "for e in events:\n"
    "    if e['ph'] == 'X': slices.setdefault(e['tid'], []).append((e['ts'], e['ts'] + e['dur']))\n"
    "    if e['ph'] == 's': assert e['id'] not in starts; starts[e['id']] = e\n"
    "    if e['ph'] == 'f': assert e['id'] not in ends; ends[e['id']] = e\n"
    "assert starts.keys() == ends.keys()\n"
    "for i in starts:\n"
    "    assert starts[i]['ts'] <= ends[i]['ts'], i\n"
    "    for e in (starts[i], ends[i]):\n"
    "        assert any(a <= e['ts'] <= b for a, b in slices[e['tid']]), e\n"
    "for tid in slices:\n"
    "    for (a, b), (c, d) in zip(slices[tid], slices[tid][1:]): assert a <= b <= c + 1e-6, tid\n"
    "names = sum(e.get('name') == 'thread_name' for e in events)\n"
    "print(len(starts), names, sum(len(s) for s in slices.values()))\n";

/* "arrows threads slices", or "" when the judge refuses. */
static char *judged(const struct trace *trace, char *line, size_t room)
{
    char file[] = "/tmp/simrun-chrome-XXXXXX", command[2048];
    size_t size = 0;
    char *text = sample_write(trace, "chrome", &size);
    int handle = mkstemp(file);
    FILE *out = handle >= 0 ? fdopen(handle, "w") : NULL;
    line[0] = 0;
    if (text && out && fwrite(text, 1, size, out) == size && fclose(out) == 0) {
        snprintf(command, sizeof command, "python3 -c \"%s\" <%s", judge, file);
        FILE *pipe = popen(command, "r");
        if (pipe && !fgets(line, (int)room, pipe))
            line[0] = 0;
        if (!pipe || pclose(pipe) != 0)
            line[0] = 0;
    }
    unlink(file);
    free(text);
    line[strcspn(line, "\n")] = 0;
    return line;
}

static void test(const char *what, const char *source, const char *expected)
{
    struct failure failure;
    char line[100];
    struct trace *trace = sample_read("t", source, &failure);
    if (!trace)
        tap_note("%s", failure.text);
    tap_is_str(trace ? judged(trace, line, sizeof line) : failure.text, expected, "%s", what);
    trace_free(trace);
}

int main(void)
{
    if (system("python3 -c 0 >/dev/null 2>&1") != 0) {
        tap_skip(4, "python3 is absent");
        return tap_done();
    }
    test("a schedule has no times and is laid out by order", "0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n",
         "4 2 16");
    test("logical times, an arrow that ends at the wait",
         "{\"simrun\":1,\"ranks\":2}\n"
         "{\"op\":\"Isend\",\"rank\":0,\"peer\":1,\"begin\":3,\"end\":9}\n"
         "{\"op\":\"Wait\",\"rank\":0,\"request\":0,\"begin\":5,\"end\":8}\n"
         "{\"op\":\"Irecv\",\"rank\":1,\"peer\":0,\"begin\":1,\"end\":1}\n"
         "{\"op\":\"Wait\",\"rank\":1,\"request\":0,\"begin\":2,\"end\":7}\n",
         "1 2 4");
    test("wall times, a name with signs, an operation that never ended",
         "{\"simrun\":1,\"ranks\":1,\"program\":\"a \\\"b\\\"\\\\ \\u00e9\"}\n"
         "{\"op\":\"Barrier\",\"rank\":0,\"begin_ns\":1000000007,\"end_ns\":1000001009,\"site\":"
         "\"x\\ty.c:3\"}\n"
         "{\"op\":\"Recv\",\"rank\":0,\"peer\":0,\"state\":\"blocked\",\"begin_ns\":1000001010}\n",
         "0 1 2");
    test("times that make no sense still give a timeline",
         "{\"simrun\":1,\"ranks\":2}\n"
         "{\"op\":\"Send\",\"rank\":0,\"peer\":1,\"begin\":18446744073709551615,\"end\":2}\n"
         "{\"op\":\"Send\",\"rank\":0,\"peer\":1,\"begin\":4,\"end\":3}\n"
         "{\"op\":\"Recv\",\"rank\":1,\"peer\":0,\"begin\":9,\"end\":1}\n",
         "0 2 3");
    return tap_done();
}
