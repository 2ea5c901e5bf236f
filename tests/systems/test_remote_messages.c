/* What must hold of messages of remote calls, against tables that count: random histories of several workers, most of whose
 * messages keep the rules, with sends, receipts, gradients and contexts left out, doubled, changed or misled. Each code
 * is told just where some message breaks its rule, with a sentence that is true of one that does, and of a step of the
 * kind the sentence speaks of. */
#include "checker/systems/remote_query.h"
#include "tests/checker/check_program.h"
#include "tests/dice.h"

enum { HISTORIES = 2500, WORKERS = 3, MESSAGES = 3, CONTEXTS = 2, PASSES = 2, STEPS_MOST = 80 };

/* A step as text, and as numbers for the tables. */
struct step {
    enum remote_kind kind;
    unsigned rank, context, pass, message, peer, hash;
    bool ok;
};

struct history {
    struct step steps[STEPS_MOST];
    size_t count;
    bool faulty, cut;
};

static void add(struct history *history, struct step step)
{
    if (history->count < STEPS_MOST)
        history->steps[history->count++] = step;
}

/* How often: nearly always once. */
static unsigned times(uint64_t *dice, unsigned rare)
{
    return dice_below(dice, rare) ? 1 : dice_below(dice, 3);
}

static unsigned hash_of(uint64_t *dice, unsigned rare)
{
    return dice_below(dice, rare) ? 10 : 11;
}

static void draw_message(struct history *h, uint64_t *dice, unsigned rare, unsigned m)
{
    unsigned from = dice_below(dice, WORKERS), to = (from + 1 + dice_below(dice, 2)) % WORKERS;
    unsigned c = dice_below(dice, CONTEXTS);
    for (unsigned i = times(dice, rare); i-- > 0;)
        add(h, (struct step){REMOTE_SEND, from, dice_below(dice, 3 * rare) ? c : 1 - c, 0, m,
                             dice_below(dice, rare) ? to : from, hash_of(dice, rare), false});
    for (unsigned i = times(dice, rare); i-- > 0;)
        add(h, (struct step){REMOTE_RECV, to, c, 0, m, dice_below(dice, rare) ? from : to,
                             hash_of(dice, rare), false});
    for (unsigned p = 0; p < PASSES; p++) {
        if (dice_below(dice, 2))
            continue;
        if (dice_below(dice, rare))
            add(h, (struct step){REMOTE_COUNT, from, c, p, m, 0, 0, false});
        for (unsigned i = times(dice, rare); i-- > 0;)
            add(h, (struct step){REMOTE_GRAD_OUT, to, c, p, m, from, hash_of(dice, rare), false});
        for (unsigned i = times(dice, rare); i-- > 0;)
            add(h, (struct step){REMOTE_GRAD_IN, from, c, p, m, 0, hash_of(dice, rare), false});
    }
}

static void draw(struct history *h, uint64_t seed)
{
    uint64_t dice = seed;
    unsigned rare = 5 + dice_below(&dice, 60);
    *h = (struct history){.cut = dice_below(&dice, 12) == 0};
    for (unsigned c = 0; c < CONTEXTS; c++)
        for (unsigned rank = 0; rank < WORKERS;
             rank++) /* its maker has it once, the others now and then */
            for (unsigned i = rank == c ? times(&dice, rare) : dice_below(&dice, 3); i-- > 0;)
                add(h, (struct step){REMOTE_CONTEXT, rank, c, 0, 0, 0, 0, false});
    for (unsigned m = 0; m < MESSAGES; m++)
        draw_message(h, &dice, rare, m);
    for (unsigned rank = 0; rank < WORKERS; rank++)
        for (unsigned p = 0; p < PASSES; p++)
            if (dice_below(&dice, 4))
                add(h, (struct step){REMOTE_OVER, rank, 0, p, 0, 0, 0, dice_below(&dice, 3) > 0});
    if (dice_below(&dice, 6) == 0)
        add(h, (struct step){REMOTE_REFUSE, dice_below(&dice, WORKERS), dice_below(&dice, CONTEXTS),
                             0, 0, 0, 0, false});
    h->faulty = dice_below(&dice, 12) == 0;
    if (h->faulty)
        add(h, (struct step){REMOTE_DIED, 1, 0, 0, 0, 0, 0, false});
    for (size_t i = h->count; i-- > 1;) { /* in any order */
        size_t other = dice_below(&dice, (uint32_t)i + 1);
        struct step step = h->steps[i];
        h->steps[i] = h->steps[other];
        h->steps[other] = step;
    }
}

/* Ids have their maker's number before the point: of contexts 0 and 1, of messages any. */
static void write_step(struct program *program, const struct step *step, uint32_t id)
{
    static const char *const names[REMOTE_KIND_COUNT] = {
        [REMOTE_CONTEXT] = "context", [REMOTE_SEND] = "send",         [REMOTE_RECV] = "recv",
        [REMOTE_COUNT] = "count",     [REMOTE_GRAD_OUT] = "grad-out", [REMOTE_GRAD_IN] = "grad-in",
        [REMOTE_OVER] = "over",       [REMOTE_REFUSE] = "refuse",     [REMOTE_DIED] = "died"};
    bool sends = step->kind == REMOTE_SEND || step->kind == REMOTE_GRAD_OUT;
    char name[200];
    snprintf(name, sizeof name, "rpc.%s c=%u.1 p=0.%u m=7.%u %s=%u h=%u ok=%d", names[step->kind],
             step->context, step->pass + 1, step->message + 1, sends ? "to" : "from", step->peer,
             step->hash, step->ok);
    struct trace_node node = {.rank = step->rank,
                              .id = id,
                              .kind = OP_COMPUTE,
                              .state = STATE_COMPLETE,
                              .forward = TRACE_NO,
                              .site = TRACE_NO,
                              .name = trace_add_string(program->trace, name)};
    trace_add_node(program->trace, &node);
}

/* ---- the tables ---- */

struct expected {
    char codes[5], titles[40][120], kinds[40][12];
    const char *of[40];
    size_t count;
};

static void expect(struct expected *expected, const char *code, const char *kind,
                   const char *format, unsigned one, unsigned two, unsigned three)
{
    char *title = expected->titles[expected->count];
    if (expected->count == 40)
        return;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(title, sizeof expected->titles[0], format, one, two, three);
#pragma GCC diagnostic pop
    snprintf(expected->kinds[expected->count], sizeof expected->kinds[0], "%s", kind);
    expected->of[expected->count++] = code;
}

static bool is_refused(const struct history *h, unsigned context)
{
    for (size_t i = 0; i < h->count; i++)
        if (h->steps[i].kind == REMOTE_REFUSE && h->steps[i].context == context)
            return true;
    return false;
}

/* Of steps of this kind, message and context: how many; the last of them into `found`. */
static unsigned count_of(const struct history *h, enum remote_kind kind, unsigned context,
                         unsigned message, const struct step **found)
{
    unsigned count = 0;
    for (size_t i = 0; i < h->count; i++)
        if (h->steps[i].kind == kind && h->steps[i].message == message &&
            h->steps[i].context == context) {
            count++;
            *found = &h->steps[i];
        }
    return count;
}

static void tell_pairs(const struct history *h, struct expected *to, unsigned c, unsigned m)
{
    const struct step *send = NULL, *recv = NULL;
    unsigned sends = count_of(h, REMOTE_SEND, c, m, &send);
    unsigned recvs = count_of(h, REMOTE_RECV, c, m, &recv);
    if (recvs && sends != 1)
        expect(to, "A001", "recv", "message 7.%u was sent %u times", m + 1, sends, 0);
    if (recvs > 1 && sends == 1)
        expect(to, "A001", "recv", "message 7.%u was received %u times", m + 1, recvs, 0);
    if (sends == 1 && recvs == 1 && (send->peer != recv->rank || recv->peer != send->rank))
        expect(to, "A001", "recv", "message 7.%u was received by the wrong worker", m + 1, 0, 0);
    if (sends == 1 && !recvs && !h->faulty && !h->cut && !is_refused(h, c))
        expect(to, "A001", "send", "message 7.%u was never received", m + 1, 0, 0);
    bool differ = false;
    for (size_t i = 0; i < h->count; i++)
        for (size_t k = 0; k < h->count; k++) {
            const struct step *one = &h->steps[i], *two = &h->steps[k];
            bool both = (one->kind == REMOTE_SEND || one->kind == REMOTE_RECV) &&
                        (two->kind == REMOTE_SEND || two->kind == REMOTE_RECV);
            differ = differ || (both && one->message == m && two->message == m &&
                                one->context == c && two->context == c && one->hash != two->hash);
        }
    if (differ)
        expect(to, "A007", "", "the tensors of message 7.%u changed on the way", m + 1, 0, 0);
}

static void tell_gradients(const struct history *h, struct expected *to, unsigned p, unsigned m)
{
    unsigned outs = 0, ins = 0, hashes = 0;
    bool missed = false;
    for (size_t i = 0; i < h->count; i++) {
        const struct step *step = &h->steps[i];
        if (step->pass != p || step->message != m)
            continue;
        outs += step->kind == REMOTE_GRAD_OUT;
        ins += step->kind == REMOTE_GRAD_IN;
        if (step->kind == REMOTE_GRAD_OUT || step->kind == REMOTE_GRAD_IN)
            hashes |= 1u << step->hash;
        for (size_t k = 0; k < h->count && step->kind == REMOTE_COUNT; k++)
            missed = missed || (h->steps[k].kind == REMOTE_OVER && h->steps[k].pass == p &&
                                h->steps[k].rank == step->rank && h->steps[k].ok);
    }
    if (outs > 1 || ins > 1)
        expect(to, "A002", "", "%u gradients were sent for message 7.%u, %u came, in one pass",
               outs, m + 1, ins);
    else if (missed && !ins)
        expect(to, "A002", "count", "no gradient came for message 7.%u, which was counted", m + 1,
               0, 0);
    else if (ins && !outs)
        expect(to, "A002", "", "a gradient came for message 7.%u that nobody sent", m + 1, 0, 0);
    if (hashes & (hashes - 1))
        expect(to, "A007", "grad-", "the gradient of message 7.%u changed on the way", m + 1, 0, 0);
}

static void tell_ids(const struct history *h, struct expected *to)
{
    for (unsigned m = 0; m < MESSAGES; m++) {
        const struct step *send;
        unsigned sends = 0;
        for (unsigned c = 0; c < CONTEXTS; c++)
            sends += count_of(h, REMOTE_SEND, c, m, &send);
        if (sends > 1)
            expect(to, "A013", "send", "message id 7.%u was given twice", m + 1, 0, 0);
    }
    for (unsigned c = 0; c < CONTEXTS; c++) {
        unsigned made = 0;
        for (size_t i = 0; i < h->count; i++)
            made += h->steps[i].kind == REMOTE_CONTEXT && h->steps[i].context == c &&
                    h->steps[i].rank == c;
        if (made > 1)
            expect(to, "A013", "context", "context id %u.1 was given twice", c, 0, 0);
    }
}

static bool is_expected(const struct expected *expected, const struct finding *finding)
{
    char step[40];
    for (size_t i = 0; i < expected->count; i++) {
        snprintf(step, sizeof step, ": rpc.%s", expected->kinds[i]);
        if (!strcmp(finding->code, expected->of[i]) &&
            !strcmp(finding->title, expected->titles[i]) && strstr(finding->detail, step))
            return true;
    }
    return false;
}

static unsigned codes_of(const struct expected *expected, struct findings *findings)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < findings->count; i++)
        wrong += !is_expected(expected, &findings->items[i]);
    for (size_t i = 0; i < expected->count; i++) {
        unsigned told = 0;
        for (size_t k = 0; k < findings->count; k++)
            told += !strcmp(findings->items[k].code, expected->of[i]);
        wrong += told != 1;
    }
    return wrong;
}

/* ---- together ---- */

static unsigned judge(const struct history *h, struct expected *expected, unsigned long long seed,
                      bool first)
{
    struct program program = program_new(WORKERS);
    struct check_options options;
    struct check_context context;
    struct findings findings;
    struct remote_trace remote;
    struct remote_query query;
    uint32_t id = 0;
    for (unsigned rank = 0; rank < WORKERS; rank++) {
        for (size_t i = 0; i < h->count; i++)
            if (h->steps[i].rank == rank)
                write_step(&program, &h->steps[i], ++id);
        program.trace->rank_info[rank].state = RANK_FINISHED;
    }
    program_finish(&program);
    check_options_init(&options);
    check_context_init(&context, program.trace, &options);
    context.cut_short = h->cut;
    findings_init(&findings);
    remote_read(&remote, program.trace);
    remote_query_init(&query, &remote, &findings);
    remote_check_messages(&query, &context);
    unsigned wrong = codes_of(expected, &findings);
    if (wrong && first) {
        for (size_t i = 0; i < findings.count; i++)
            printf("# %llu: said %s %s, %s", seed, findings.items[i].code, findings.items[i].title,
                   findings.items[i].detail);
        for (size_t i = 0; i < expected->count; i++)
            printf("# %llu: expected %s %s of a %s\n", seed, expected->of[i], expected->titles[i],
                   expected->kinds[i]);
    }
    remote_query_release(&query);
    remote_release(&remote);
    findings_release(&findings);
    check_context_release(&context);
    trace_free(program.trace);
    return wrong;
}

int main(void)
{
    static struct history history;
    static struct expected expected;
    unsigned wrong = 0, none = 0, sentences[12] = {0};
    static const char *const beginnings[] = {
        "sent 0 times", "sent 2 times", "received 2",  "wrong worker", "never",      "tensors",
        "came, in",     "no gradient",  "nobody sent", "gradient of",  "message id", "context id"};
    struct dice_seeds seeds = dice_seeds(HISTORIES);
    for (unsigned long long seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        draw(&history, seed);
        expected.count = 0;
        for (unsigned m = 0; m < MESSAGES; m++) {
            for (unsigned c = 0; c < CONTEXTS; c++)
                tell_pairs(&history, &expected, c, m);
            for (unsigned p = 0; p < PASSES; p++)
                tell_gradients(&history, &expected, p, m);
        }
        tell_ids(&history, &expected);
        wrong += judge(&history, &expected, seed, !wrong);
        none += expected.count == 0;
        for (size_t i = 0; i < expected.count && expected.count < 3; i++)
            for (size_t k = 0; k < 12; k++)
                sentences[k] += strstr(expected.titles[i], beginnings[k]) != NULL;
    }
    tap_is_int(wrong, 0,
               "each rule is broken just where the tables say so, and told of one that breaks it");
    if (seeds.count >= HISTORIES) {
        tap_ok(none > HISTORIES / 20, "many histories are right (%u)", none);
        for (size_t k = 0; k < 12; k++)
            tap_ok(sentences[k] > 5, "some are wrong by little else than '%s' (%u)", beginnings[k],
                   sentences[k]);
    }
    return tap_done();
}
