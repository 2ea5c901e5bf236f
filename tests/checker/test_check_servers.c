/* S001, S002 and S003 on traces written by hand. */
#include "checker/properties.h"
#include "checker/systems/server_notes.h"
#include "tests/checker/check_program.h"
#include "tests/dice.h"

#include "traces/base/identity.h"

#include <math.h>

struct servers {
    struct program program;
    struct findings findings;
};

static struct servers begin(uint32_t ranks)
{
    struct servers servers = {.program = program_new(ranks)};
    findings_init(&servers.findings);
    return servers;
}

static void note(struct servers *servers, uint32_t rank, const char *name, double step,
                 double value)
{
    trace_add_metric_at(servers->program.trace, name, (int32_t)rank, step, value, "");
}

/* A worker's message, with the identity that the library gives it, and its receive. */
static void message(struct servers *servers, uint32_t from, int tag, bool received)
{
    static const char name[] = "server/s sent";
    struct trace_plain_op send = program_op(&servers->program, from, OP_SEND, 10 + (int)from);
    send.peer = 0;
    send.tag = tag;
    send.identity = trace_identity(name, strlen(name));
    trace_add_op(servers->program.trace, &send);
    if (!received)
        return;
    struct trace_plain_op receive = program_op(&servers->program, 0, OP_RECV, 5);
    receive.peer = (int32_t)from;
    receive.tag = tag;
    receive.peer_matched = (int32_t)from;
    receive.tag_matched = tag;
    trace_add_op(servers->program.trace, &receive);
}

static void sent(struct servers *servers, uint32_t from, double number, double version)
{
    note(servers, from, "server/s sent", number, version);
    message(servers, from, (int)number, true);
}

static void applied(struct servers *servers, const char *how, double number, double version)
{
    note(servers, 0, how, number, version);
}

/* "S001 S002", each code as often as it was found. */
static const char *verdict(struct servers *servers, const char *checks)
{
    static char text[200];
    struct check_options options;
    struct failure failure = {0};
    check_options_init(&options);
    check_options_parse(&options, checks, &failure);
    for (uint32_t r = 0; r < servers->program.trace->ranks; r++)
        servers->program.trace->rank_info[r].state = RANK_FINISHED;
    if (!trace_finish(servers->program.trace, &failure))
        return "the trace is not valid";
    check_trace(servers->program.trace, &options, &servers->findings);
    said_trace(servers->program.trace, &options, &servers->findings);
    text[0] = 0;
    for (size_t i = 0; i < servers->findings.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "",
                 servers->findings.items[i].code);
    return text;
}

static void end(struct servers *servers)
{
    findings_release(&servers->findings);
    trace_free(servers->program.trace);
}

static void staleness(void)
{
    struct servers s = begin(3);
    note(&s, 0, "server/s bound", NAN, 2);
    sent(&s, 1, 1, 0);
    sent(&s, 2, 1, 0);
    sent(&s, 2, 2, 1);
    applied(&s, "server/s applied from 1", 1, 0);
    applied(&s, "server/s applied from 2", 1, 2);
    applied(&s, "server/s applied from 2", 2, 3);
    tap_is_str(verdict(&s, "all"), "", "staleness up to the bound is fine");
    end(&s);

    s = begin(3);
    note(&s, 0, "server/s bound", NAN, 2);
    sent(&s, 1, 1, 0);
    sent(&s, 2, 1, 0);
    applied(&s, "server/s applied from 1", 1, 3);
    applied(&s, "server/s applied from 2", 1, 7);
    tap_is_str(verdict(&s, "all"), "S001", "staleness beyond the bound is one finding");
    tap_ok(s.findings.count && strstr(s.findings.items[0].detail, "2 of 2 updates") &&
               strstr(s.findings.items[0].detail, "update 1 of rank 2, made from version 0") &&
               s.findings.items[0].op_count == 2,
           "it counts them, and names the worst with its message");
    end(&s);

    s = begin(2);
    sent(&s, 1, 1, 0);
    applied(&s, "server/s applied from 1", 1, 1000);
    tap_is_str(verdict(&s, "all"), "", "without a bound any staleness is fine");
    end(&s);

    s = begin(2);
    note(&s, 0, "server/other bound", NAN, 0);
    sent(&s, 1, 1, 0);
    applied(&s, "server/s applied from 1", 1, 5);
    tap_is_str(verdict(&s, "all"), "", "the bound of one server is not that of another");
    end(&s);
}

static void conservation(void)
{
    struct servers s = begin(3);
    sent(&s, 1, 1, 0);
    sent(&s, 1, 2, 0);
    sent(&s, 2, 1, 0);
    applied(&s, "server/s applied from 1", 1, 0);
    applied(&s, "server/s applied from 2", 1, 1);
    tap_is_str(verdict(&s, "all"), "S002", "what was received and never applied is lost");
    tap_ok(s.findings.count && strstr(s.findings.items[0].detail, "Update 2 of rank 1") &&
               !strstr(s.findings.items[0].detail, "Update 1 of"),
           "the update is named, and no other");
    end(&s);

    s = begin(2);
    sent(&s, 1, 1, 0);
    applied(&s, "server/s dropped from 1", 1, 1);
    tap_is_str(verdict(&s, "all"), "", "what was dropped on purpose is not lost");
    end(&s);

    s = begin(2);
    note(&s, 1, "server/s sent", 1, 0);
    message(&s, 1, 1, false);
    tap_is_str(verdict(&s, "updates"), "", "what is in flight is not lost (L002 says it)");
    end(&s);

    s = begin(2);
    sent(&s, 1, 1, 0);
    applied(&s, "server/s applied from 1", 1, 0);
    applied(&s, "server/s applied from 1", 1, 1);
    tap_is_str(verdict(&s, "all"), "S002", "applied twice is once too often");
    end(&s);

    s = begin(2);
    applied(&s, "server/s applied from 1", 4, 0);
    tap_is_str(verdict(&s, "all"), "S002", "applied and never sent");
    end(&s);

    s = begin(3);
    sent(&s, 1, 1, 0);
    sent(&s, 2, 1, 0);
    applied(&s, "server/s written from 1", 1, 0);
    applied(&s, "server/s written from 2", 1, 1);
    tap_is_str(verdict(&s, "all"), "S002", "a write over what came in between loses it");
    end(&s);

    s = begin(3);
    sent(&s, 1, 1, 0);
    sent(&s, 2, 1, 1);
    applied(&s, "server/s written from 1", 1, 0);
    applied(&s, "server/s written from 2", 1, 1);
    tap_is_str(verdict(&s, "all"), "", "writes one after the other lose nothing");
    end(&s);

    s = begin(2);
    sent(&s, 1, 1, 0);
    s.program.trace->outcome = OUTCOME_DEADLOCK;
    tap_is_str(verdict(&s, "updates"), "", "a run that was cut short proves nothing");
    end(&s);

    s = begin(2);
    sent(&s, 1, 1, 0);
    note(&s, 0, "server/s closed", NAN, 1);
    s.program.trace->outcome = OUTCOME_DEADLOCK;
    tap_is_str(verdict(&s, "updates"), "S002", "unless the server had closed");
    end(&s);

    s = begin(2);
    note(&s, 1, "bytes sent", 1, 0);
    note(&s, 1, "server/ sent", 1, 0);
    note(&s, 1, "server/x sent late", 1, 0);
    note(&s, 1, "server/x applied from y", 1, 0);
    note(&s, 1, "server/x sent", NAN, 0);
    note(&s, 1, "server/x sent", -1, 0);
    tap_is_str(verdict(&s, "all"), "", "other metrics are nobody's updates");
    end(&s);
}

/* Updates have whole numbers from 1 on, as far as a double tells them apart. */
static void numbers(void)
{
    static const struct {
        double step;
        bool counts;
    } rows[] = {{1, true},    {2, true},         {0x1p53 - 1, true}, {0, false},
                {-1, false},  {0.5, false},      {0x1p53, false},    {0x1p64, false},
                {NAN, false}, {INFINITY, false}, {-INFINITY, false}, {-0x1p63, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct servers s = begin(2);
        struct server_accounts accounts;
        applied(&s, "server/s applied from 1", rows[i].step, 0);
        server_accounts_read(&accounts, s.program.trace);
        const struct server_account *account = accounts.count == 1 ? accounts.items : NULL;
        tap_is_int(account ? account->count : 9, rows[i].counts, "number %g is %s update",
                   rows[i].step, rows[i].counts ? "an" : "no");
        tap_ok(account && (!account->count || (double)account->updates->number == rows[i].step),
               "and keeps it");
        server_accounts_release(&accounts);
        end(&s);
    }
}

static void replicas(void)
{
    struct servers s = begin(3);
    for (uint32_t step = 0; step < 3; step++)
        for (uint32_t r = 0; r < 3; r++) {
            note(&s, r, "replica/s/w", NAN, 100 + step);
            note(&s, r, "replica/s/b", NAN, 200 + step);
        }
    tap_is_str(verdict(&s, "all"), "", "equal replicas are fine");
    end(&s);

    s = begin(3);
    note(&s, 2, "loss", 1, 0.5);
    note(&s, 1, "loss", 1, 0.5);
    for (uint32_t step = 0; step < 4; step++)
        for (uint32_t r = 0; r < 3; r++)
            note(&s, r, "replica/s/w", NAN, 100 + step);
    tap_is_str(verdict(&s, "all"), "", "whatever was noted before");
    end(&s);

    s = begin(3);
    for (uint32_t step = 0; step < 3; step++)
        for (uint32_t r = 0; r < 3; r++) {
            struct trace_plain_op op = program_op(&s.program, r, OP_ALLREDUCE, 40);
            op.comm_seq = step;
            op.reduce_op = 3;
            op.identity = trace_identity("w", 1);
            trace_add_op(s.program.trace, &op);
            note(&s, r, "replica/s/w", NAN, 100 + step + (step > 0 && r == 0));
        }
    tap_is_str(verdict(&s, "all"), "S003", "replicas that differ are one finding");
    const struct finding *finding = s.findings.count ? &s.findings.items[0] : NULL;
    tap_ok(finding && strstr(finding->detail, "First after step 2: 1 of 3 ranks"),
           "the first step is named");
    bool places = finding && finding->op_count == 2;
    for (size_t i = 0; places && i < finding->op_count; i++) {
        const struct trace_op *op = &s.program.trace->ops[finding->ops[i].op];
        places = op->comm_seq == 1 && (op->rank == 0) == !strcmp(finding->ops[i].role, "culprit");
    }
    tap_ok(places, "the rank that is not with the most is to blame, by its gradient's operation");
    end(&s);

    s = begin(4);
    for (uint32_t r = 0; r < 4; r++) /* two groups of replicas with servers of their own */
        note(&s, r, r < 2 ? "replica/one/w" : "replica/two/w", NAN, r < 2);
    tap_is_str(verdict(&s, "all"), "", "replicas of other servers may differ");
    end(&s);

    s = begin(2);
    note(&s, 0, "replica/s/w", NAN, NAN);
    note(&s, 1, "replica/s/w", NAN, 1);
    tap_is_str(verdict(&s, "all"), "S003", "a value that is no number is not equal");
    end(&s);
}

/* ---- random accounts, counted here once more ---- */

enum { WORKERS = 2, UPDATES = 3, ACCOUNTS = 600, COPIES = 400, RANKS_MOST = 4, STEPS_MOST = 3 };
enum fate { APPLIED, DROPPED, LOST };

struct update {
    enum fate fate;
    double read, applied;
};

static const struct finding *found(const struct servers *s, const char *code)
{
    for (size_t i = 0; i < s->findings.count; i++)
        if (strcmp(s->findings.items[i].code, code) == 0)
            return &s->findings.items[i];
    return NULL;
}

static bool says(const struct finding *finding, const char *text)
{
    return finding && strstr(finding->detail, text);
}

/* How many are too old, which is the oldest; which were never applied. */
static bool account_is_told(const struct servers *s, struct update updates[WORKERS][UPDATES],
                            double bound)
{
    const struct finding *stale = found(s, "S001"), *lost = found(s, "S002");
    unsigned old = 0, all = 0, gone = 0;
    double worst = 0;
    bool right = true, named = false;
    char text[200];
    for (int i = 0; i < WORKERS * UPDATES; i++) {
        const struct update *update = &updates[i / UPDATES][i % UPDATES];
        double age = update->fate == APPLIED ? update->applied - update->read : 0;
        all += update->fate == APPLIED;
        old += age > bound;
        worst = age > worst ? age : worst;
        gone += update->fate == LOST;
        snprintf(text, sizeof text, "Update %d of rank %d", i % UPDATES + 1, i / UPDATES + 1);
        right = right && says(lost, text) == (update->fate == LOST);
    }
    for (int i = 0; i < WORKERS * UPDATES; i++) {
        const struct update *update = &updates[i / UPDATES][i % UPDATES];
        snprintf(text, sizeof text,
                 "Worst: update %d of rank %d, made from version %g, was applied by rank 0 at "
                 "version %g",
                 i % UPDATES + 1, i / UPDATES + 1, update->read, update->applied);
        named = named || (update->fate == APPLIED && update->applied - update->read == worst &&
                          says(stale, text));
    }
    snprintf(text, sizeof text, "%u of %u updates are staler than T = %g.\n", old, all, bound);
    return right && !lost == !gone && !stale == !old && (!old || (named && says(stale, text)));
}

static void random_accounts(void)
{
    unsigned wrong = 0, some[2] = {0};
    for (uint64_t seed = 1; seed <= ACCOUNTS; seed++) {
        uint64_t dice = seed;
        struct servers s = begin(1 + WORKERS);
        struct update updates[WORKERS][UPDATES];
        double bound = dice_below(&dice, 6);
        note(&s, 0, "server/s bound", NAN, bound);
        for (int i = 0; i < WORKERS * UPDATES; i++) {
            static const enum fate fates[] = {APPLIED, APPLIED, APPLIED, APPLIED, DROPPED, LOST};
            struct update *update = &updates[i / UPDATES][i % UPDATES];
            char name[60];
            update->fate = fates[dice_below(&dice, 6)];
            update->read = dice_below(&dice, 4);
            update->applied = update->read + dice_below(&dice, 8);
            sent(&s, (uint32_t)(i / UPDATES + 1), i % UPDATES + 1, update->read);
            snprintf(name, sizeof name, "server/s %s from %d",
                     update->fate == DROPPED ? "dropped" : "applied", i / UPDATES + 1);
            if (update->fate != LOST)
                applied(&s, name, i % UPDATES + 1, update->applied);
        }
        verdict(&s, "all");
        bool right = account_is_told(&s, updates, bound);
        wrong += !right;
        if (!right)
            tap_note("account %llu: %s", (unsigned long long)seed,
                     s.findings.count ? s.findings.items[0].detail : "nothing");
        some[0] += found(&s, "S001") != NULL;
        some[1] += found(&s, "S002") != NULL;
        end(&s);
    }
    tap_is_int(wrong, 0, "updates that are too old and those that are lost are counted and named");
    tap_ok(some[0] > ACCOUNTS / 4 && some[1] > ACCOUNTS / 4, "there are enough: %u and %u", some[0],
           some[1]);
}

/* The first step after which copies differ; what most have is right, of as many what came first. */
static bool copies_are_told(const struct servers *s, const char *name,
                            double values[STEPS_MOST][RANKS_MOST], uint32_t steps, uint32_t ranks)
{
    const struct finding *finding = NULL;
    char text[100];
    snprintf(text, sizeof text, "the replicas of %s differ", name);
    for (size_t i = 0; i < s->findings.count; i++)
        if (strcmp(s->findings.items[i].title, text) == 0)
            finding = finding ? NULL : &s->findings.items[i];
    for (uint32_t step = 0; step < steps; step++) {
        uint32_t alike[RANKS_MOST] = {0}, best = 0, odd = 0;
        for (uint32_t i = 0; i < ranks * ranks; i++)
            alike[i / ranks] += values[step][i / ranks] == values[step][i % ranks];
        for (uint32_t rank = ranks; rank-- > 0;)
            best = alike[rank] >= alike[best] ? rank : best;
        if (alike[best] == ranks)
            continue;
        bool right = true;
        for (uint32_t rank = 0; rank < ranks; rank++) {
            bool differs = values[step][rank] != values[step][best];
            odd += differs;
            snprintf(text, sizeof text, "Rank %u differs.\n", rank);
            right = right && says(finding, text) == differs;
            snprintf(text, sizeof text, "Rank %u is with the most.\n", rank);
            right = right && says(finding, text) == (rank == best);
        }
        snprintf(text, sizeof text, "First after step %u: %u of %u ranks have", step + 1, odd,
                 ranks);
        return right && says(finding, text);
    }
    return !finding;
}

/* Alone: findings without a place are told as one. */
static void look_at_copies(struct servers *s)
{
    struct check_options options;
    struct check_context context;
    program_finish(&s->program);
    check_options_init(&options);
    check_context_init(&context, s->program.trace, &options);
    check_replicas(&context, &s->findings);
    check_context_release(&context);
}

static void random_copies(void)
{
    static const char *const names[] = {"s/w", "s/b"};
    unsigned wrong = 0, some = 0;
    for (uint64_t seed = 1; seed <= COPIES; seed++) {
        uint64_t dice = seed;
        uint32_t ranks = 1 + dice_below(&dice, RANKS_MOST);
        uint32_t steps = 1 + dice_below(&dice, STEPS_MOST);
        struct servers s = begin(ranks);
        double values[2][STEPS_MOST][RANKS_MOST] = {{{0}}};
        for (uint32_t i = 0; i < steps * ranks * 2; i++) {
            uint32_t step = i / 2 / ranks, rank = i / 2 % ranks;
            char metric[40];
            values[i % 2][step][rank] = 7;
            if (dice_below(&dice, 4) == 0)
                values[i % 2][step][rank] = dice_below(&dice, 3);
            snprintf(metric, sizeof metric, "replica/%s", names[i % 2]);
            note(&s, rank, metric, NAN, values[i % 2][step][rank]);
        }
        look_at_copies(&s);
        some += found(&s, "S003") != NULL;
        for (int i = 0; i < 2; i++) {
            bool right = copies_are_told(&s, names[i], values[i], steps, ranks);
            wrong += !right;
            if (!right)
                tap_note("copies %llu of %s, %u ranks: %s", (unsigned long long)seed, names[i],
                         ranks, s.findings.count ? s.findings.items[0].detail : "nothing");
        }
        end(&s);
    }
    tap_is_int(wrong, 0, "the first step at which replicas differ is told, and whose");
    tap_ok(some > COPIES / 4 && some < COPIES * 9 / 10, "some differ: %u", some);
}

int main(void)
{
    said_open("check_servers", 500);
    staleness();
    conservation();
    numbers();
    replicas();
    said_close();
    random_accounts();
    random_copies();
    return tap_done();
}
