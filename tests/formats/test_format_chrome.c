/* Timelines: valid JSON, paired arrows inside their slices, slices that do not overlap. Judged by
 * python3's own parser. */
#include "tests/formats/format_samples.h"
#include "traces/trace/finding.h"

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

/* A finding is an instant on the thread of each operation it names, at its beginning. */
static void test_findings(void)
{
    static const char source[] = "{\"simrun\":1,\"ranks\":2}\n"
                                 "{\"op\":\"Isend\",\"rank\":0,\"peer\":1,\"begin\":3,\"end\":9}\n"
                                 "{\"op\":\"Irecv\",\"rank\":1,\"peer\":0,\"begin\":5,\"end\":7}\n";
    static const char begun[] = "\"ph\":\"i\"", named[] = "\"cat\":\"finding\"";
    struct failure failure;
    struct findings findings;
    size_t size;
    struct trace *trace = sample_read("t", source, &failure);
    findings_init(&findings);
    struct finding *finding = findings_add(&findings, "D001", "two \"hang\"");
    finding_op_add(finding, 1, "culprit");
    finding_op_add(finding, 2, "none"); /* not among the operations */
    finding_op_add(finding, TRACE_NO, "node");
    finding_op_add(finding, 0, "partner");
    findings_add(&findings, "L001", "about nothing");
    char *text = trace ? sample_told(trace, &findings, "chrome", &size) : NULL;
    int instants = sample_count(text, begun), names = sample_count(text, named);
    tap_ok(instants == 2 && names == 2, "one for each operation: %d, %d", instants, names);
    /* Logical times count from the first: 2 ticks of 1 us behind it. */
    const char *first = text ? strstr(text, begun) : NULL,
               *second = first ? strstr(first + 1, begun) : NULL;
    char line[300] = "";
    if (second) {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(first, "\n"), first);
        tap_ok(strstr(line, "\"tid\":1") && strstr(line, "\"ts\":2") && strstr(line, "culprit") &&
                   strstr(line, "D001") && strstr(line, "two \\\"hang\\\""),
               "on its rank, at its time: %s", line);
        snprintf(line, sizeof line, "%.*s", (int)strcspn(second, "\n"), second);
        tap_ok(strstr(line, "\"tid\":0") && strstr(line, "\"ts\":0") && strstr(line, "partner"),
               "and so is the other: %s", line);
    }
    tap_ok(second, "two of them");
    findings_release(&findings);
    free(text);
    trace_free(trace);
}

int main(void)
{
    test_findings();
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
