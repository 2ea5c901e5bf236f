/* Every key of every line of a JSON lines file, with every kind of value: what docs/formats.md does not allow is refused at the value's
 * line and column, the borders of a number's range are in it, and whatever follows a refused value does not bring the file back. */
#include "tests/formats/format_samples.h"

/* What a key takes beside the numbers and texts of its row. */
enum {
    NIL = 1,
    BOOL = 2,
    MINUS = 4,
    FRACTION = 8,
    TEXT = 16,
    LIST = 32,
    OBJECT = 64,
    LARGE = 128,
    HUGE = 256,
    ANYTHING = 511,
    AT_KEY = 512 /* the key itself is refused, whatever its value */
};

static const struct {
    const char *text;
    int kind;
} values[] = {{"null", NIL},
              {"true", BOOL},
              {"false", BOOL},
              {"-1", MINUS},
              {"1.5", FRACTION},
              {"\"x\"", TEXT},
              {"[]", LIST},
              {"{}", OBJECT},
              {"18446744073709551615", LARGE},
              {"18446744073709551616", HUGE},
              {"", 0},
              {"nul", 0},
              {"tru", 0},
              {"-", 0},
              {"+1", 0},
              {"01", 0},
              {"1.", 0},
              {"\"x", 0},
              {"[[]]", 0},
              {"[{}]", 0},
              {"[null]", 0},
              {"{\"x\":1}", 0}};

#define SITE "{\"site\":0,\"at\":[\"f\",1,\"g\"]}\n"
#define COMM "{\"comm\":7,\"members\":[0,1]}\n"
#define OPS                                                                                        \
    "{\"op\":\"Irecv\",\"rank\":0,\"id\":5,\"peer\":1,\"tag\":0}\n{\"op\":\"Isend\",\"rank\":1,"   \
    "\"id\":6,\"peer\":0,\"tag\":0}\n"
#define NODE   "{\"node\":3,\"rank\":0}\n"
#define HEADER "{\"simrun\":1,\"ranks\":2"
#define WHOLE  2147483647

static const char before_all[] = HEADER "}\n" SITE COMM OPS NODE,
                  before_deps[] = HEADER "}\n" SITE COMM OPS, nothing[] = "";

struct range {
    const char *low, *high, *beyond[2];
};
static const struct range index32 = {"0", "4294967294", {"-1", "4294967295"}},
                          u32 = {"0", "4294967295", {"-1", "4294967296"}},
                          i32 = {"-2147483648", "2147483647", {"-2147483649", "2147483648"}},
                          count = {"-144115188075855872",
                                   "144115188075855872",
                                   {"-144115188075855873", "144115188075855873"}},
                          rank = {"0", "1", {"-1", "2"}}, rank_or_all = {"-1", "1", {"-2", "2"}},
                          one = {"1", "1", {"0", "2"}}, ranks = {"1", "1048576", {"0", "1048577"}},
                          elements = {"1", "4294967295", {"0", "4294967296"}},
                          place = {"-1", "9223372036854775807", {"-2", "9223372036854775808"}};

/* `good` and `bad` are separated by blanks; a bad one is followed by '@' where it is refused as a whole, at the begin of its line. */
static const struct row {
    const char *before, *begin, *key, *end;
    int takes;
    const struct range *range;
    const char *good, *bad;
} rows[] = {
#define OP       before_all, "{\"op\":\"Bcast\",\"rank\":0,"
#define WAIT     before_all, "{\"op\":\"Waitall\",\"rank\":0,"
#define VARYING  before_all, "{\"op\":\"Alltoallv\",\"rank\":0,"
#define DEPS     before_deps, "{\"op\":\"Bcast\",\"rank\":0,"
#define A_NODE   before_all, "{\"node\":4,\"rank\":0,"
#define PASS     before_all, "{\"pass\":1,\"rank\":0,"
#define A_COMM   before_all, "{\"comm\":9,"
#define RANK     before_all, "{\"rank\":0,"
#define NOTE     before_all, "{\"note\":\"G005\",\"rank\":0,"
#define GRADIENT before_all, "{\"gradient\":\"x\",\"rank\":0,"
#define METRIC   before_all, "{\"metric\":\"m\","
#define FIRST    nothing, HEADER ","
#define STATES   "\"never\" \"posted\" \"blocked\" \"complete\" \"failed\" \"cancelled\""
#define DOUBLE                                                                                     \
    NIL | MINUS | FRACTION | LARGE | HUGE, NULL, "\"inf\" \"-inf\" 0 1e308 -1e-300 0.0",           \
        "\"nan\" \"+inf\" 1e .5"
#define U64 LARGE, NULL, "0 18446744073709551614", "1e3 -0"
    {nothing, "{", "simrun", ",\"ranks\":2}", 0, &one, "1", ""},
    {nothing, "{\"simrun\":1,", "ranks", "}", 0, &ranks, "2", ""},
    {FIRST, "program", "}", TEXT, NULL, "\"\"", ""},
    {FIRST, "model", "}", TEXT, NULL, "\"rendezvous\" \"123456789012345\"", "\"1234567890123456\""},
    {FIRST, "outcome", "}", 0, NULL,
     "\"finished\" \"deadlock\" \"livelock\" \"aborted\" \"crashed\" \"timeout\" \"interrupted\" "
     "\"imported\"",
     "\"\" \"Finished\""},
    {FIRST, "seed", "}", U64},
    {FIRST, "objective", "}", DOUBLE},
    {FIRST, "_mine", "}", ANYTHING, NULL, "[[]] [null] [{}] {\"x\":1}", "[}"},
    {before_all, "{\"op\":\"Bcast\",", "rank", "}", 0, &rank, "", ""},
    {before_all, "{", "op", ",\"rank\":0}", 0, NULL, "\"Send\" \"Ibcast\" \"compute\" \"none\"",
     "\"Isent\" \"IBcast\" \"send\" \"\""},
    {OP, "id", "}", 0, &index32, "0", ""},
    {OP, "peer", "}", NIL | MINUS, NULL, "\"any\" 0 1 -3", "\"all\" 2147483648 2@ -2@"},
    {OP, "root", "}", NIL | MINUS, NULL, "\"any\" 0 1", "\"all\" 2147483648 2@ -2@"},
    {OP, "tag", "}", NIL | MINUS, &i32, "\"any\"", "\"all\""},
    {OP, "count", "}", MINUS, &count, "0", ""},
    {OP, "pass", "}", 0, &u32, "0", ""},
    {OP, "peer_matched", "}", NIL | MINUS, NULL, "\"any\" 0 1", "\"all\" 2147483648 2@ -2@"},
    {OP, "tag_matched", "}", NIL | MINUS, &i32, "\"any\"", "\"all\""},
    {OP, "count_matched", "}", MINUS, &count, "0", ""},
    {OP, "batch", "}", 0, &u32, "", ""},
    {OP, "thread", "}", 0, &u32, "", ""},
    {OP, "error", "}", MINUS, &i32, "", ""},
    {OP, "begin", "}", U64},
    {OP, "end", "}", U64},
    {OP, "begin_ns", "}", U64},
    {OP, "end_ns", "}", U64},
    {OP, "buffer", "}", U64},
    {OP, "extent", "}", U64},
    {OP, "comm", "}", NIL, NULL, "1 7", "4294967295 2@ 0@"},
    {OP, "comm_seq", "}", 0, &index32, "", ""},
    {OP, "type", "}", 0, &index32, "\"double\" \"int\"", "\"\" \"?\" \"mixed\""},
    {OP, "signature", "}", 0, &u32, "", ""},
    {OP, "reduce", "}", 0, &index32, "\"sum\" \"max\"", "\"\" \"?\""},
    {OP, "identity", "}", TEXT, &u32, "\"\"", ""},
    {OP, "site", "}", NIL | TEXT, NULL, "0 \"f:1\" [\"f\",1,\"g\"] [\"f\",-2147483648,\"\"]",
     "1 4294967295 [\"f\",1] [\"f\",\"g\",1] [1,1,\"g\"] [\"f\",2147483648,\"g\"] [\"f\",1,2] "
     "[\"f\",1,\"g\",1]"},
    {OP, "name", "}", TEXT, NULL, "\"\"", ""},
    {OP, "flags", "}", LIST, NULL,
     "[\"nonblocking\"] [\"persistent\",\"compound\"] "
     "[\"in_place\",\"inactive\",\"buffer_changed\"] [\"adjoint\",\"across\"]",
     "[\"x\"] [\"\"] [1] [\"adjoint\",\"x\"] [\"adjoint\"\"across\"]"},
    {OP, "state", "}", 0, NULL, STATES, "\"\" \"gone\""},
    {OP, "node", "}", 0, NULL, "3", "4@ 0@ 4294967295"},
    {OP, "adjoint_of", "}", 0, NULL, "5 [1,6] [0,5]",
     "4@ 6@ [1,5]@ [2,6] [1] [1,6,0] [1,-1] [1,\"x\"]"},
    {OP, "_mine", "}", ANYTHING, NULL,
     "[[]] [null] [{}] {\"x\":1} [1,{\"a\":[2,3],\"b\":{}},\"]\"]", "[} [1,] {1} {\"a\"} [1,2"},
    {WAIT, "request", "}", 0, NULL, "5", "4@ 6@"},
    {WAIT, "requests", "}", LIST, NULL, "[5]", "[4]@ [-1] [5,\"x\"] [\"x\",5]"},
    {before_all, "{\"op\":\"Waitall\",\"rank\":0,\"requests\":[5],", "completed", "}", LIST, NULL,
     "[true] [false]", "[true,true] [1] [null]"},
    {VARYING, "send_counts", "}", LIST, NULL, "[1,-2] [68719476736,-68719476736]",
     "[1.5] [\"x\"] [1,null] [68719476737] [-68719476737]"},
    {VARYING, "receive_counts", "}", LIST, NULL, "[1,2,3]", "[1.5] [\"x\"] [1,null]"},
    {before_all, "{\"op\":\"Alltoallv\",\"rank\":0,\"send_counts\":[1,2],", "receive_counts", "}",
     0, NULL, "[3,4]", "[1]@ [1,2,3]@ []@"},
    {before_all, "{\"op\":\"Alltoallv\",\"rank\":0,\"send_counts\":[],", "send_counts", "}", AT_KEY,
     NULL, "", "[]"},
    {DEPS, "deps", "}", LIST, NULL, "", "[5]@ [4]@ [-1] [1,\"x\"]"},
    {DEPS, "order_deps", "}", LIST, NULL, "", "[5]@ [4]@ [-1] [1,\"x\"]"},
    {before_all, "{", "node", ",\"rank\":0}", 0, NULL, "4 4294967294", "4294967295 3@"},
    {before_all, "{\"node\":4,", "rank", "}", 0, &rank, "", ""},
    {A_NODE, "pass", "}", 0, &index32, "", ""},
    {A_NODE, "kind", "}", 0, NULL, "\"Send\" \"Allreduce\" \"compute\"", "\"Sned\" \"\""},
    {A_NODE, "state", "}", 0, NULL, STATES, "\"\" \"gone\""},
    {A_NODE, "forward", "}", 0, NULL, "3", "5@ -2 4294967295"},
    {A_NODE, "site", "}", NIL | TEXT, NULL, "0 \"f:1\"", "1"},
    {A_NODE, "name", "}", TEXT, NULL, "\"\"", ""},
    {A_NODE, "begin", "}", U64},
    {A_NODE, "end", "}", U64},
    {A_NODE, "deps", "}", LIST, NULL, "[3]", "[4]@ [5]@ [-1]"},
    {A_NODE, "order_deps", "}", LIST, NULL, "[3]", "[4]@ [5]@ [-1]"},
    {A_NODE, "_mine", "}", ANYTHING, NULL, "[[]] [null] [{}] {\"x\":1}", "[}"},
    {before_all, "{\"node\":4,\"rank\":0}\n{", "edge", "}", 0, NULL, "[0,3,4]",
     "[0,4,4]@ [0,3,5]@ [0,5,4]@ [1,3,4]@ [2,3,4] [0,3] [0,3,4,5] [0] [\"x\",3,4] [0,\"x\",4] "
     "[0,3,\"x\"] [0,-1,4] [0,3,-1]"},
    {before_all, "{\"node\":4,\"rank\":0}\n{\"edge\":[0,3,4],", "order", "}", BOOL, NULL, "", ""},
    {before_all, "{", "pass", ",\"rank\":0}", 0, NULL, "1 4294967294", "0 4294967295"},
    {before_all, "{\"pass\":1,", "rank", "}", 0, &rank, "", ""},
    {PASS, "mode", "}", 0, NULL, "\"data\" \"program\"", "\"\" \"date\" \"dat\" \"programs\""},
    {PASS, "complete", "}", BOOL, NULL, "", ""},
    {before_all, "{", "comm", "}", 0, NULL, "0 1 4294967294", "4294967295 7@"},
    {A_COMM, "size", "}", 0, NULL, "0 4", "5@ 4294967295"},
    {A_COMM, "members", "}", NIL | LIST, NULL, "[0] [1,0,1,0]", "[2] [-1] [0,\"x\"] [0,1,0,1,0]@"},
    {before_all, "{\"comm\":9,\"size\":2,", "members", "}", NIL, NULL, "[0,1]", "[0] [0,1,1] []"},
    {before_all, "{\"comm\":9,\"members\":[0],", "size", "}", AT_KEY, NULL, "", "1 2"},
    {before_all, "{\"comm\":9,\"size\":1,", "size", "}", AT_KEY, NULL, "", "1"},
    {A_COMM, "name", "}", TEXT, NULL, "\"\"", ""},
    {A_COMM, "parent", "}", 0, NULL, "1 7 9", "8@ 4294967295"},
    {A_COMM, "adjoint_of", "}", 0, NULL, "1 7", "8@ 4294967295"},
    {before_all, "{", "site", ",\"at\":[\"f\",2,\"\"]}", 0, NULL, "1", "0 2"},
    {before_all, "{\"site\":1,", "at", "}", 0, NULL, "[\"f\",2,\"\"]",
     "[\"f\",2] [1,2,\"\"] [\"f\",\"2\",\"\"] [\"f\",2,3] [\"f\",2,\"\",0]"},
    {before_all, "{", "strings", "}", LIST, NULL, "[\"x\"] [\"\",\"y\"]",
     "[1] [\"x\",null] [\"x\"\"y\"]"},
    {before_all, "{", "rank", "}", 0, &rank, "", ""},
    {RANK, "state", "}", 0, NULL,
     "\"finished\" \"blocked\" \"aborted\" \"crashed\" \"polling\" \"running\"", "\"\" \"gone\""},
    {RANK, "exit_code", "}", MINUS, &i32, "", ""},
    {RANK, "site", "}", NIL | TEXT, NULL, "0", "1"},
    {RANK, "finalized", "}", BOOL, NULL, "", ""},
    {RANK, "bytes_sent", "}", U64},
    {RANK, "messages_sent", "}", U64},
    {RANK, "hash", "}", U64},
    {before_all, "{", "note", ",\"rank\":0}", TEXT, NULL, "\"1234567\"", "\"12345678\""},
    {before_all, "{\"note\":\"G005\",", "rank", "}", 0, &rank, "", ""},
    {NOTE, "op", "}", 0, NULL, "5 [1,6]", "4@ 6@ [0,6]@ [2,6] [1] [1,6,7]"},
    {NOTE, "node", "}", 0, NULL, "3 [0,3]", "4@ [1,3]@ [2,3] [0] [0,3,3]"},
    {NOTE, "site", "}", NIL | TEXT, NULL, "0", "1"},
    {NOTE, "text", "}", TEXT, NULL, "\"\"", ""},
    {before_all, "{", "gradient", ",\"rank\":0}", TEXT, NULL, "\"\"", ""},
    {before_all, "{\"gradient\":\"x\",", "rank", "}", 0, &rank, "", ""},
    {GRADIENT, "index", "}", MINUS, &place, "0", ""},
    {GRADIENT, "ok", "}", BOOL, NULL, "", ""},
    {GRADIENT, "undecided", "}", 0, NULL,
     "\"noise\" \"kink\" \"scale\" \"unfinished\" \"budget\" \"objective\" \"later\"",
     "\"why\" \"\""},
    {GRADIENT, "elements", "}", 0, &elements, "", ""},
    {GRADIENT, "method", "}", 0, NULL,
     "\"central\" \"complex\" \"dot\" \"tangent\" \"one-sided\" \"value\"", "\"\" \"dots\""},
    {GRADIENT, "step", "}", DOUBLE},
    {GRADIENT, "analytic", "}", DOUBLE},
    {GRADIENT, "numeric", "}", DOUBLE},
    {GRADIENT, "error", "}", DOUBLE},
    {GRADIENT, "tolerance", "}", DOUBLE},
    {GRADIENT, "relative", "}", DOUBLE},
    {before_all, "{", "metric", "}", TEXT, NULL, "\"\"", ""},
    {METRIC, "rank", "}", MINUS, &rank_or_all, "0", ""},
    {METRIC, "value", "}", DOUBLE},
    {METRIC, "step", "}", DOUBLE},
    {METRIC, "unit", "}", TEXT, NULL, "\"\"", ""},
    {before_all, "{", "finding", "}", ANYTHING, NULL, "[[]] [null] [{}] {\"x\":1}", "[}"},
    {before_all, "{\"finding\":\"D001\",", "whatever", "}", ANYTHING, NULL,
     "[[]] [null] [{}] {\"x\":1}", "[}"},
};

/* What an unknown key is one of; where anything may stand, nothing is unknown. */
static const struct {
    const char *line, *of;
} unknown[] = {{HEADER, "the header"},
               {"{\"op\":\"Bcast\",\"rank\":0", "an operation"},
               {"{\"node\":4,\"rank\":0", "a node"},
               {"{\"edge\":[0,3,3]", "an edge"},
               {"{\"pass\":1,\"rank\":0", "a pass"},
               {"{\"comm\":9", "a communicator"},
               {"{\"rank\":0", "a rank"},
               {"{\"note\":\"G005\",\"rank\":0", "a note"},
               {"{\"gradient\":\"x\",\"rank\":0", "a gradient"},
               {"{\"metric\":\"m\"", "a metric"}};

static unsigned tried, wrong;

static void complain(const char *text, const char *said)
{
    const char *end = strstr(text, "\n{\"metric\":\"behind\"");
    const char *line = end ? memrchr(text, '\n', (size_t)(end - text)) : NULL;
    if (wrong++ < 100)
        tap_note("%s\n# said: %s", line ? line + 1 : text, said);
}

/* The line that is asked about, with its value, and a good line behind it; where it begins and where its value does. */
struct question {
    char text[1200];
    size_t line, value, end; /* offsets */
};

static void ask(const struct row *row, const char *value, struct question *question)
{
    char *text = question->text;
    size_t room = sizeof question->text,
           used = (size_t)snprintf(text, room, "%s%s", row->before, row->begin);
    const char *newline = memrchr(text, '\n', used);
    question->line = newline ? (size_t)(newline - text) + 1 : 0;
    used += (size_t)snprintf(text + used, room - used, "\"%s\":", row->key);
    question->value = used;
    used += (size_t)snprintf(text + used, room - used, "%s", value);
    question->end = used;
    snprintf(text + used, room - used, "%s\n{\"metric\":\"behind\"}\n", row->end);
}

/* "t:LINE:COLUMN: ...": the place of a refusal as an offset into the text; -1 for what is none. */
static long place_of(const char *text, const char *said)
{
    unsigned long line, column;
    int used = 0;
    if (sscanf(said, "t:%lu:%lu: %n", &line, &column, &used) != 2 || !used || !said[used] ||
        !line || !column)
        return -1;
    const char *begin = text;
    for (; line > 1 && begin; line--)
        begin = (begin = strchr(begin, '\n')) ? begin + 1 : NULL;
    return begin ? begin - text + (long)column - 1 : -1;
}

static void must_take(const struct row *row, const char *value)
{
    struct question question;
    struct failure failure = {0};
    ask(row, value, &question);
    struct trace *trace = sample_read("t", question.text, &failure);
    tried++;
    if (!trace)
        complain(question.text, failure.text);
    else if (trace->metric_count == 0)
        complain(question.text, "nothing behind it");
    trace_free(trace);
}

/* `whole`: refused with its line, not at its value. */
static void must_refuse(const struct row *row, const char *value, bool whole, const char *sentence)
{
    struct question question;
    struct failure failure = {0};
    ask(row, value, &question);
    struct trace *trace = sample_read("t", question.text, &failure);
    long at = place_of(question.text, failure.text), line = (long)question.line;
    size_t from = question.value - (row->takes & AT_KEY ? strlen(row->key) + 3 : 0);
    /* a text without end takes the quote of what follows */
    size_t to = question.end + (strcmp(value, "\"x") ? 0 : strlen(row->end));
    bool placed = whole ? at == line : at >= (long)from && at <= (long)to;
    tried++;
    if (trace || failure.code != FAILURE_INPUT || !placed ||
        (sentence && !strstr(failure.text, sentence)))
        complain(question.text, trace ? "nothing" : failure.text);
    trace_free(trace);
}

static bool lists(const char *words, const char *value)
{
    size_t length = strlen(value);
    for (const char *found = words; length && (found = strstr(found, value)); found++)
        if ((found == words || found[-1] == ' ') && strchr(" @", found[length]))
            return true;
    return false;
}

static void each_word(const struct row *row, const char *words, bool good)
{
    char word[80];
    for (; *words; words += strspn(words, " ")) {
        size_t length = strcspn(words, " ");
        bool whole = words[length - 1] == '@';
        snprintf(word, sizeof word, "%.*s", (int)length - whole, words);
        if (good)
            must_take(row, word);
        else
            must_refuse(row, word, whole, NULL);
        words += length;
    }
}

static void test_rows(void)
{
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const struct row *row = &rows[r];
        each_word(row, row->good, true);
        each_word(row, row->bad, false);
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            const char *value = values[i].text;
            if (row->takes & values[i].kind)
                must_take(row, value);
            else if (!lists(row->good, value) && !lists(row->bad, value) &&
                     !(row->range && !strcmp(value, row->range->low)))
                must_refuse(row, value, false, NULL);
        }
        if (!row->range)
            continue;
        char sentence[120];
        snprintf(sentence, sizeof sentence, "a number from %s to %s expected", row->range->low,
                 row->range->high);
        if (row->range != &ranks) /* a million of them take a second */
            must_take(row, row->range->high);
        must_take(row, row->range->low);
        for (int i = 0; i < 2; i++)
            if (!lists(row->good, row->range->beyond[i]))
                must_refuse(row, row->range->beyond[i], false, sentence);
    }
    tap_is_int(wrong, 0, "%u values are taken or refused, each at its place", tried);
}

static void test_unknown(void)
{
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        char text[900], expected[120];
        struct failure failure;
        const char *before = i ? before_all : nothing;
        snprintf(text, sizeof text, "%s%s,\"nonsense\":1}\n", before, unknown[i].line);
        snprintf(expected, sizeof expected, "t:%d:%zu: unknown key \"nonsense\" of %s", i ? 7 : 1,
                 strlen(unknown[i].line) + 2, unknown[i].of);
        trace_free(sample_read("t", text, &failure));
        tap_is_str(failure.text, expected, "an unknown key of %s", unknown[i].of);
        snprintf(text, sizeof text, "%s%s\n", before, unknown[i].line);
        snprintf(expected, sizeof expected, "t:%d:%zu: ',' or '}' expected, the input ends",
                 i ? 7 : 1, strlen(unknown[i].line) + 1);
        trace_free(sample_read("t", text, &failure));
        tap_is_str(failure.text, expected, "a line without end");
    }
}

/* ---- words and what they stand for ---- */

static struct trace *line_of(const char *format, const char *word)
{
    char text[300];
    struct failure failure;
    size_t used = (size_t)snprintf(text, sizeof text, HEADER "}\n");
    const char *hole = strchr(format, '%');
    snprintf(text + used, sizeof text - used, "%.*s%s%s\n", (int)(hole - format), format, word,
             hole + 1);
    struct trace *trace = sample_read("t", text, &failure);
    return trace;
}

static void test_words(void)
{
    static const struct {
        const char *word;
        int number;
    } states[] = {{"never", STATE_NEVER},     {"posted", STATE_POSTED},
                  {"blocked", STATE_BLOCKED}, {"complete", STATE_COMPLETE},
                  {"failed", STATE_FAILED},   {"cancelled", STATE_CANCELLED}},
      flags[] = {{"nonblocking", OP_NONBLOCKING}, {"persistent", OP_PERSISTENT},
                 {"compound", OP_COMPOUND},       {"in_place", OP_IN_PLACE},
                 {"inactive", OP_INACTIVE},       {"adjoint", OP_ADJOINT}},
      ends[] = {{"finished", RANK_FINISHED},
                {"blocked", RANK_BLOCKED},
                {"aborted", RANK_ABORTED},
                {"crashed", RANK_CRASHED}};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        struct trace *trace =
            line_of("{\"op\":\"Barrier\",\"rank\":1,\"state\":\"%\"}", states[i].word);
        tap_is_int(trace ? trace->ops[0].state : -1, states[i].number, "state %s", states[i].word);
        size_t size;
        char *text = trace ? sample_write(trace, "jsonl", &size) : NULL;
        tap_ok(text && !strstr(text, "\"state\":") == (states[i].number == STATE_COMPLETE) &&
                   (states[i].number == STATE_COMPLETE || strstr(text, states[i].word)),
               "is written");
        free(text);
        trace_free(trace);
    }
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        struct trace *trace =
            line_of("{\"op\":\"Barrier\",\"rank\":1,\"flags\":[\"%\"]}", flags[i].word);
        tap_is_int(trace ? trace->ops[0].flags : -1, flags[i].number, "flag %s", flags[i].word);
        trace_free(trace);
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct trace *trace = line_of("{\"rank\":1,\"state\":\"%\"}", ends[i].word);
        tap_is_int(trace ? (int)trace->rank_info[1].state : -1, ends[i].number, "a rank is %s",
                   ends[i].word);
        trace_free(trace);
    }
}

/* The order of a line's keys, which is the writer's, changes nothing. */
static void test_note_order(void)
{
    static const char *const notes[] = {"{\"note\":\"G005\",\"rank\":1,\"op\":6,\"text\":\"t\"}",
                                        "{\"note\":\"G005\",\"op\":6,\"text\":\"t\",\"rank\":1}"};
    for (int i = 0; i < 2; i++) {
        char text[600];
        struct failure failure;
        snprintf(text, sizeof text, "%s%s\n", before_all, notes[i]);
        struct trace *trace = sample_read("t", text, &failure);
        tap_ok(trace && trace->notes[0].op < trace->op_count &&
                   trace->ops[trace->notes[0].op].rank == 1,
               "a note names an operation of its rank: %s", notes[i]);
        trace_free(trace);
    }
}

/* Which requests a wait completed: as listed, else all or none by its state. */
static void test_completed(void)
{
    static const struct {
        const char *rest;
        bool first, second;
    } waits[] = {{"", true, true},
                 {",\"state\":\"blocked\"", false, false},
                 {",\"completed\":[true,false]", true, false},
                 {",\"completed\":[false,true]", false, true},
                 {",\"state\":\"blocked\",\"completed\":[false,true]", false, true},
                 {",\"completed\":[true,true],\"state\":\"posted\"", true, true}};
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        char text[700];
        struct failure failure;
        snprintf(text, sizeof text,
                 "%s%s{\"op\":\"Waitall\",\"rank\":0,\"deps\":[],\"requests\":[5,8]%s}\n",
                 before_deps, "{\"op\":\"Irecv\",\"rank\":0,\"id\":8,\"peer\":1,\"tag\":0}\n",
                 waits[i].rest);
        struct trace *trace = sample_read("t", text, &failure);
        tap_ok(trace && trace->wait_count == 2 && trace->waits[0].completed == waits[i].first &&
                   trace->waits[1].completed == waits[i].second,
               "a wait%s", waits[i].rest);
        trace_free(trace);
    }
}

int main(void)
{
    test_rows();
    test_completed();
    test_unknown();
    test_words();
    test_note_order();
    return tap_done();
}
