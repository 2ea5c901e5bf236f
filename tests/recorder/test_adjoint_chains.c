/* Chains of communications with adjoints by hand, right ones and such with one mistake somewhere: who is blamed, and in which words, follows
 * from where the mistake was put. Nothing is marked between input and loss.
 *
 * Each link gives y from v by its communication, then v becomes sin(a y + b v): all that any call gives matters to the loss. */
#include "tests/diff_world.h"

#include <math.h>

enum { RANKS_MOST = 4, EACH = 2, N_MOST = RANKS_MOST * EACH, LINKS = 5, ALL = RANKS_MOST * N_MOST };

enum kind { SUM, TO_ALL, TO_ONE, ROUND, EXCHANGE, PREFIX, COLLECT, SHARE, KINDS };

static const char *const forward_names[] = {"Allreduce", "Bcast", "Reduce",    "message",
                                            "Alltoall",  "Scan",  "Allgather", "Scatter"};

/* What of a sum cannot be followed call by call. */
enum besides {
    NOTHING,
    A_COUNT,    /* a number that no input moves is summed, too, and back with zero */
    DROPPED,    /* the same, but the adjoint's sum is shorter */
    THE_LARGEST /* it is no sum, but a maximum */
};

struct link {
    enum kind kind;
    int at;               /* root, or how far round */
    enum besides besides; /* of a sum */
    bool wide;            /* of a broadcast: the adjoint's sum goes to all */
    bool copied;          /* on the other communicator */
    bool printed;         /* before it a number is summed that only a person wants */
    bool again;           /* the adjoint makes the forward call once more, as it kept no y */
};

enum mistake {
    NO_MISTAKE,
    LEFT_OUT,   /* the adjoint of a call */
    GIVEN,      /* one rank gives a call other numbers */
    OTHER_ROOT, /* of a call of the adjoint */
    MAXIMUM,    /* in place of a sum */
    BEHIND,     /* the computation after the calls */
    SCALED,     /* what all calls are given */
    NOT_TAKEN,  /* a message of the adjoint, which nobody receives */
    FORWARDS,   /* all messages of the adjoint, which has no other calls */
    MISTAKES
};

static struct {
    int ranks, n, count;
    struct link links[LINKS];
    enum mistake mistake;
    int wrong, who; /* which link, and of whom */
    bool early;     /* before the loss many numbers are summed that it does not depend on */
    uint32_t forward[LINKS][RANKS_MOST], back[LINKS][RANKS_MOST]; /* the calls' positions, from 1 */
} chain;

static uint64_t dice;

static int below(int n)
{
    return (int)dice_below(&dice, (uint32_t)n);
}

/* ---- the program, of one rank ---- */

struct here {
    int rank, ranks, n;
    MPI_Comm copy, turned; /* the same ranks; from the last to the first */
    uint32_t calls;        /* so far */
};

static MPI_Comm comm_of(const struct here *here, const struct link *link)
{
    return link->copied ? here->copy : MPI_COMM_WORLD;
}

static double share_of(int rank, int i)
{
    return 1 + 0.3 * rank - 0.1 * i;
}

/* Forward and back from lines of their own. */
static inline __attribute__((always_inline)) void round_go(struct here *here, const double *in,
                                                           double *out, int by, int tag,
                                                           MPI_Comm comm, bool takes)
{
    MPI_Request request;
    int to = (here->rank + by + here->ranks) % here->ranks;
    int from = (here->rank - by + here->ranks) % here->ranks;
    if (takes)
        MPI_Irecv(out, here->n, MPI_DOUBLE, from, tag, comm, &request);
    MPI_Send(in, here->n, MPI_DOUBLE, to, tag, comm);
    if (takes)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    here->calls += takes ? 2 : 0; /* the caller counts one */
}

static void sum_go(const struct here *here, const struct link *link, const double *v, double *y)
{
    double more[N_MOST + 1], all[N_MOST + 1];
    bool counts = link->besides == A_COUNT || link->besides == DROPPED;
    int n = here->n;
    memcpy(more, v, (size_t)n * sizeof *v);
    more[n] = 5;
    MPI_Allreduce(more, all, n + counts, MPI_DOUBLE,
                  link->besides == THE_LARGEST ? MPI_MAX : MPI_SUM, comm_of(here, link));
    memcpy(y, all, (size_t)n * sizeof *y);
}

static void forward_go(struct here *here, int which, const double *v, double *y, bool again)
{
    const struct link *link = &chain.links[which];
    MPI_Comm comm = comm_of(here, link);
    double all[ALL];
    int n = here->n;
    memcpy(y, v, (size_t)n * sizeof *y);
    if (!again)
        chain.forward[which][here->rank] = here->calls + 1;
    switch (link->kind) {
    case SUM:
        sum_go(here, link, v, y);
        break;
    case TO_ALL:
        MPI_Bcast(y, n, MPI_DOUBLE, link->at, comm);
        break;
    case TO_ONE:
        MPI_Reduce(v, y, n, MPI_DOUBLE, MPI_SUM, link->at, comm);
        break;
    case ROUND:
        round_go(here, v, y, link->at, which % 2, comm, true);
        break;
    case EXCHANGE:
        MPI_Alltoall(v, EACH, MPI_DOUBLE, y, EACH, MPI_DOUBLE, comm);
        break;
    case PREFIX:
        MPI_Scan(v, y, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        break;
    case COLLECT:
        MPI_Allgather(v, n, MPI_DOUBLE, all, n, MPI_DOUBLE, comm);
        for (int i = 0; i < n; i++) {
            y[i] = 0;
            for (int r = 0; r < here->ranks; r++)
                y[i] += share_of(r, i) * all[r * n + i];
        }
        break;
    default:
        for (int k = 0; k < here->ranks * n; k++)
            all[k] = share_of(k / n, k % n) * v[k % n];
        MPI_Scatter(all, n, MPI_DOUBLE, y, n, MPI_DOUBLE, link->at, comm);
    }
    here->calls++;
}

/* What v's cotangent is, of y's; the mistake is in it where it is this link's. */
static void back_go(struct here *here, int which, const double *v, const double *y,
                    const double *y_bar, double *v_bar)
{
    const struct link *link = &chain.links[which];
    enum mistake mistake = chain.wrong == which ? chain.mistake : NO_MISTAKE;
    MPI_Comm comm = comm_of(here, link);
    MPI_Op sum = mistake == MAXIMUM ? MPI_MAX : MPI_SUM;
    int n = here->n, root = (link->at + (mistake == OTHER_ROOT)) % here->ranks;
    double given[N_MOST + 1], all[ALL] = {0}, got[ALL] = {0};
    memcpy(given, y_bar, (size_t)n * sizeof *given);
    memset(v_bar, 0, (size_t)n * sizeof *v_bar);
    for (int i = 0; i < n && mistake == GIVEN && here->rank == chain.who; i++)
        given[i] *= 1.01;
    chain.back[which][here->rank] = here->calls + 1;
    if (mistake == LEFT_OUT) {
        memcpy(v_bar, given, (size_t)n * sizeof *v_bar);
        return;
    }
    here->calls++;
    switch (link->kind) {
    case SUM:
        given[n] = 0;
        MPI_Allreduce(given, got, n + (link->besides == A_COUNT), MPI_DOUBLE, sum, comm);
        for (int i = 0; i < n; i++)
            v_bar[i] = link->besides != THE_LARGEST || v[i] == y[i] ? got[i] : 0;
        break;
    case TO_ALL:
        if (link->wide)
            MPI_Allreduce(given, got, n, MPI_DOUBLE, sum, comm);
        else
            MPI_Reduce(given, got, n, MPI_DOUBLE, sum, root, comm);
        for (int i = 0; i < n && here->rank == link->at; i++)
            v_bar[i] = got[i];
        break;
    case TO_ONE: /* the others kept their own */
        memcpy(v_bar, given, (size_t)n * sizeof *v_bar);
        MPI_Bcast(v_bar, n, MPI_DOUBLE, root, comm);
        for (int i = 0; i < n && here->rank != link->at; i++)
            v_bar[i] += y_bar[i];
        break;
    case ROUND:
        round_go(here, given, v_bar, chain.mistake == FORWARDS ? link->at : -link->at,
                 50 + which % 2, comm, mistake != NOT_TAKEN || here->rank != chain.who);
        break;
    case EXCHANGE:
        MPI_Alltoall(given, EACH, MPI_DOUBLE, v_bar, EACH, MPI_DOUBLE, comm);
        break;
    case PREFIX:
        MPI_Scan(given, v_bar, n, MPI_DOUBLE, sum, here->turned);
        break;
    case COLLECT:
        for (int k = 0; k < here->ranks * n; k++)
            all[k] = share_of(k / n, k % n) * given[k % n];
        MPI_Reduce_scatter_block(all, v_bar, n, MPI_DOUBLE, sum, comm);
        break;
    default:
        MPI_Gather(given, n, MPI_DOUBLE, got, n, MPI_DOUBLE, root, comm);
        for (int k = 0; k < here->ranks * n && here->rank == link->at; k++)
            v_bar[k % n] += share_of(k / n, k % n) * got[k];
    }
}

/* Nothing depends on it. */
static void print_norm(struct here *here, const double *v)
{
    double norm = v[0] * v[0], sum;
    MPI_Allreduce(&norm, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    here->calls++;
}

static void sum_early(struct here *here, const double *v)
{
    double sum[N_MOST];
    MPI_Allreduce(v, sum, here->n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    here->calls++;
}

static void program(void)
{
    double v[LINKS + 1][N_MOST], y[LINKS][N_MOST], bar[N_MOST], y_bar[N_MOST], v_bar[N_MOST];
    struct here here = {.ranks = chain.ranks, .n = chain.n};
    double a[LINKS], b[LINKS], loss = 0;
    int n = chain.n;
    MPI_Comm_rank(MPI_COMM_WORLD, &here.rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &here.copy);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -here.rank, &here.turned);
    here.calls = 3; /* with MPI_Init */
    for (int i = 0; i < n; i++)
        v[0][i] = 0.6 * sin(1.3 * i + 2.1 * here.rank + 0.4);
    diff_mark_input("x", v[0], (size_t)n);
    for (int l = 0; l < chain.count; l++) {
        a[l] = 0.4 + 0.1 * l + 0.07 * here.rank;
        b[l] = 0.7 - 0.1 * l + 0.05 * here.rank;
        if (chain.links[l].printed)
            print_norm(&here, v[l]);
        forward_go(&here, l, v[l], y[l], false);
        for (int i = 0; i < n; i++)
            v[l + 1][i] = sin(a[l] * y[l][i] + b[l] * v[l][i]);
    }
    if (chain.early)
        sum_early(&here, v[0]);
    for (int i = 0; i < n; i++)
        loss += (1 + here.rank + 0.1 * i) * v[chain.count][i] * v[chain.count][i];
    diff_mark_objective(loss);
    for (int i = 0; i < n; i++)
        bar[i] =
            2 * (1 + here.rank + 0.1 * i) * v[chain.count][i] * (chain.mistake == SCALED ? 3 : 1);
    for (int l = chain.count; l-- > 0;) {
        double slope[N_MOST];
        if (chain.links[l].again)
            forward_go(&here, l, v[l], y[l], true);
        for (int i = 0; i < n; i++) {
            slope[i] = bar[i] * cos(a[l] * y[l][i] + b[l] * v[l][i]);
            y_bar[i] = a[l] * slope[i];
        }
        back_go(&here, l, v[l], y[l], y_bar, v_bar);
        for (int i = 0; i < n; i++)
            bar[i] = v_bar[i] + b[l] * slope[i];
    }
    for (int i = 0; i < n && chain.mistake == BEHIND; i++)
        bar[i] *= 1.01;
    diff_mark_gradient("x", bar, (size_t)n);
    MPI_Comm_free(&here.copy);
    MPI_Comm_free(&here.turned);
}

/* ---- what is to be said ---- */

static bool has_root(enum kind kind)
{
    return kind == TO_ALL || kind == TO_ONE || kind == SHARE;
}

static bool is_wide(const struct link *link)
{
    return link->kind == TO_ALL && link->wide;
}

static bool back_sums(enum kind kind)
{
    return kind == SUM || kind == TO_ALL || kind == PREFIX || kind == COLLECT;
}

static const char *back_name(const struct link *link)
{
    static const char *const names[] = {
        "Allreduce", "Reduce", "Bcast", "message", "Alltoall", "Scan", "Reduce_scatter_block",
        "Gather"};
    return is_wide(link) ? "Allreduce" : names[link->kind];
}

/* A call of the one's adjoint answers the other as well. */
static bool are_alike(const struct link *one, const struct link *other)
{
    return one->kind == other->kind &&
           (one->at == other->at || (!has_root(one->kind) && one->kind != ROUND));
}

/* Calls of the adjoint that come before that of the link. */
static int calls_before(int which)
{
    int count = 0;
    for (int l = which + 1; l < chain.count; l++)
        count += chain.links[l].kind == ROUND ? chain.ranks : 1;
    return count;
}

/* Chains in which it is plain what a mistake looks like. */
static bool is_plain(void)
{
    const struct link *wrong = &chain.links[chain.wrong];
    int sums = 0, odd = 0;
    for (int l = 0; l < chain.count; l++) {
        enum kind kind = chain.links[l].kind;
        sums += kind == SUM || kind == TO_ALL;
        odd += kind == SUM && chain.links[l].besides != NOTHING;
    }
    if (odd && (sums > 1 || wrong->kind == SUM))
        return false; /* its adjoint's sum may answer another one, too */
    for (int l = 0; l < chain.wrong; l++)
        if (chain.mistake == LEFT_OUT && chain.links[l].besides == DROPPED)
            return false;
    for (int l = 0; l < chain.count; l++) {
        const struct link *other = &chain.links[l];
        if (l == chain.wrong)
            continue;
        if ((chain.mistake == OTHER_ROOT || chain.mistake == NOT_TAKEN) &&
            other->kind == wrong->kind)
            return false; /* it may answer the other one */
        if ((wrong->kind == TO_ALL && (other->kind == SUM || is_wide(other))) ||
            (wrong->kind == SUM && is_wide(other)))
            return false; /* an Allreduce answers both */
    }
    if (chain.mistake == NOT_TAKEN)
        return wrong->kind == ROUND;
    if (chain.mistake == OTHER_ROOT)
        return has_root(wrong->kind) && !is_wide(wrong);
    if (chain.mistake == MAXIMUM)
        return back_sums(wrong->kind);
    return chain.mistake != GIVEN || wrong->kind != TO_ONE || chain.who == wrong->at;
}

/* Messages alone, all the same way round, which is not the way back. */
static void round_draw(void)
{
    chain.ranks = 3 + below(RANKS_MOST - 2);
    chain.n = chain.ranks * EACH;
    chain.count = 1 + below(3);
    chain.wrong = chain.count - 1;
    chain.early = false;
    for (int l = 0, at = below(2) ? 1 : chain.ranks - 1; l < chain.count; l++)
        chain.links[l] = (struct link){.kind = ROUND, .at = at, .copied = below(2)};
}

static void chain_draw(enum mistake mistake)
{
    chain.mistake = mistake;
    if (mistake == FORWARDS) {
        round_draw();
        return;
    }
    do {
        chain.ranks = 3 + below(RANKS_MOST - 2);
        chain.n = chain.ranks * EACH;
        chain.count = 1 + below(LINKS);
        chain.wrong = below(chain.count);
        chain.who = below(chain.ranks);
        chain.early = below(4) == 0;
        for (int l = 0; l < chain.count; l++) {
            struct link *link = &chain.links[l];
            *link = (struct link){.kind = (enum kind)below(KINDS),
                                  .besides = below(2) ? NOTHING : (enum besides)below(4),
                                  .wide = below(3) == 0,
                                  .again = below(4) == 0,
                                  .copied = below(2),
                                  .printed = below(5) == 0};
            link->at = link->kind == ROUND ? 1 + below(chain.ranks - 1) : below(chain.ranks);
        }
    } while (!is_plain());
}

/* The position is that of the link's call on its rank; of messages that of the send or of the receive. */
static bool is_at(const struct gradcheck_culprit *culprit, const struct link *link,
                  const uint32_t positions[RANKS_MOST])
{
    uint32_t at = positions[culprit->rank];
    if (link->kind == ROUND)
        return culprit->position == at || culprit->position == at + 1;
    return culprit->rank == 0 && culprit->position == at;
}

static bool __attribute__((format(printf, 2, 3)))
is_said(const struct gradcheck_culprit *culprit, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    bool said = strstr(culprit->text, text) != NULL;
    if (!said)
        tap_note("not said: %s", text);
    return said;
}

/* Where a call of the adjoint answers none as it stands, or one is no sum, it may be written in another way. Calls before
 * it are judged. */
static bool is_followed(void)
{
    bool at_once = chain.mistake == GIVEN || chain.mistake == OTHER_ROOT ||
                   chain.mistake == MAXIMUM || chain.mistake == NOT_TAKEN;
    for (int l = 0; l < chain.count; l++)
        if (chain.links[l].kind == SUM &&
            (chain.links[l].besides == THE_LARGEST ||
             (chain.links[l].besides == DROPPED && !(at_once && chain.wrong > l))))
            return false;
    return true;
}

static bool left_out_right(const struct gradcheck_culprit *culprit)
{
    int first = 0;   /* the latest ones are taken to be answered */
    if (chain.early) /* that sum may be the answer */
        return !culprit->outside && !strstr(culprit->text, "no call after the objective");
    while (!are_alike(&chain.links[first], &chain.links[chain.wrong]))
        first++;
    const char *name = forward_names[chain.links[first].kind];
    return culprit->outside && !strcmp(culprit->name, name) &&
           is_at(culprit, &chain.links[first], chain.forward[first]) &&
           is_said(culprit,
                   "no call after the objective is the adjoint of this %s, on whose result the "
                   "objective depends",
                   name);
}

static bool given_right(const struct gradcheck_culprit *culprit)
{
    const struct link *link = &chain.links[chain.wrong];
    int before = calls_before(chain.wrong), number = 0;
    char by[80], behind[80];
    const char *at = strstr(culprit->text, ", call ");
    snprintf(by, sizeof by, " of the adjoint, is given by rank %d is not the cotangent", chain.who);
    if (at)
        sscanf(at, ", call %d", &number);
    snprintf(behind, sizeof behind, "of what the forward %s gave; %s", forward_names[link->kind],
             number == 1 ? "it is the first call" : "the calls before it are right");
    return !culprit->outside && culprit->position == 0 && number > before &&
           number <= before + (link->kind == ROUND ? chain.ranks : 1) &&
           is_said(culprit, "is wrong: what this %s, call %d", back_name(link), number) &&
           is_said(culprit, "%s %s", by, behind);
}

static bool call_right(const struct gradcheck_culprit *culprit)
{
    const struct link *link = &chain.links[chain.wrong];
    return culprit->outside && !strcmp(culprit->name, back_name(link)) &&
           is_at(culprit, link, chain.back[chain.wrong]) &&
           (chain.mistake == OTHER_ROOT
                ? is_said(culprit, "is wrong: this %s is not the adjoint of the forward %s that it",
                          back_name(link), forward_names[link->kind])
                : is_said(culprit,
                          "is wrong: this %s does not bring back what it is given to where the "
                          "forward %s took it from",
                          back_name(link), forward_names[link->kind]));
}

static bool behind_right(const struct gradcheck_culprit *culprit, const char *factor)
{
    char all[60];
    snprintf(all, sizeof all, "all calls of the adjoint (%d) are given", calls_before(-1));
    return !culprit->outside &&
           is_said(culprit, "%s the right numbers%s, as far as differences see", all, factor);
}

/* The place is that of the forward send. */
static bool not_taken_right(const struct gradcheck_culprit *culprit)
{
    const struct link *link = &chain.links[chain.wrong];
    return culprit->outside && !strcmp(culprit->name, "message") && culprit->rank == chain.who &&
           culprit->position == chain.forward[chain.wrong][chain.who] + 1 &&
           is_said(culprit,
                   "no call after the objective takes the cotangent of this message, which rank %d "
                   "sends back",
                   (chain.who + link->at) % chain.ranks);
}

/* Messages that go from one rank to another as often as a ring is long may have gone round: a way back. */
static bool forwards_right(const struct gradcheck_culprit *culprit)
{
    const struct link *link = &chain.links[chain.wrong];
    int from = -1, to = -1;
    const char *at = strstr(culprit->text, ", from rank ");
    if (chain.count > 1 && chain.count >= chain.ranks - 1)
        return !culprit->outside && !culprit->text[0];
    if (at)
        sscanf(at, ", from rank %d to rank %d,", &from, &to);
    return culprit->outside && !strcmp(culprit->name, "message") &&
           to == (from + link->at) % chain.ranks &&
           (culprit->rank == from || culprit->rank == to) &&
           is_at(culprit, link, chain.back[chain.wrong]) &&
           is_said(culprit, "this message goes the way of the forward one, from rank %d", from);
}

static bool is_right(const struct gradcheck_result *result)
{
    const struct gradcheck_culprit *culprit = &result->culprit;
    if (result->base_failed || (result->failed > 0) != (chain.mistake != NO_MISTAKE))
        return false;
    if (chain.mistake != NO_MISTAKE && !is_followed())
        return culprit->found && culprit->marked && !culprit->outside && !culprit->text[0];
    bool elsewhere = culprit->outside || chain.mistake == GIVEN; /* not where x was marked */
    if (chain.mistake != NO_MISTAKE && !(chain.mistake == LEFT_OUT && chain.early) &&
        (!culprit->found || culprit->missing || culprit->marked == elsewhere ||
         (elsewhere && (!culprit->site || culprit->record))))
        return false;
    switch (chain.mistake) {
    case NO_MISTAKE:
        return !culprit->found && !culprit->text[0];
    case LEFT_OUT:
        return left_out_right(culprit);
    case GIVEN:
        return given_right(culprit);
    case OTHER_ROOT:
    case MAXIMUM:
        return call_right(culprit);
    case NOT_TAKEN:
        return not_taken_right(culprit);
    case FORWARDS:
        return forwards_right(culprit);
    case BEHIND:
        return behind_right(culprit, "");
    default:
        return behind_right(culprit, ", but for a factor (3) that all of them have");
    }
}

static bool holds(void)
{
    struct diff_world world = {chain.ranks, program, SIM_SEND_EAGER, 0};
    struct diff_runner runner = {diff_world_run, &world, chain.ranks, 1};
    struct gradcheck_options options = gradcheck_options_default();
    struct gradcheck_result result;
    options.elements_max = 1;
    options.points = 1;
    gradcheck_run(&runner, &options, &result);
    bool right = is_right(&result);
    if (!right) {
        for (int l = 0; l < chain.count; l++)
            tap_note("%s %d besides %d%s%s%s, calls %u, %u of rank 0",
                     forward_names[chain.links[l].kind], chain.links[l].at,
                     (int)chain.links[l].besides, chain.links[l].wide ? " wide" : "",
                     chain.links[l].again ? " again" : "", l == chain.wrong ? " <- wrong" : "",
                     chain.forward[l][0], chain.back[l][0]);
        tap_note("%d ranks, rank %d; said of rank %d, call %u: %s", chain.ranks, chain.who,
                 result.culprit.rank, result.culprit.position, result.culprit.text);
    }
    gradcheck_release(&result);
    return right;
}

int main(void)
{
    static const char *const names[] = {"a right adjoint passes",
                                        "the adjoint of a call is left out",
                                        "one rank gives a call other numbers",
                                        "a call has another root",
                                        "a maximum in place of a sum",
                                        "the computation behind the calls is wrong",
                                        "all calls are given three times what is right",
                                        "nobody takes a message",
                                        "messages go forwards again"};
    struct dice_seeds seeds = dice_seeds(6);
    for (enum mistake mistake = NO_MISTAKE; mistake < MISTAKES; mistake++) {
        int wrong = 0;
        for (unsigned long long i = 0; i < seeds.count; i++) {
            dice = (seeds.first + i) * MISTAKES + (unsigned)mistake;
            chain_draw(mistake);
            wrong += !holds();
        }
        tap_is_int(wrong, 0, "%s, of random chains: so it is said", names[mistake]);
    }
    return tap_done();
}
