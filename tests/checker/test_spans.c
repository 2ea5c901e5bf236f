/* The set of spans against a list that is looked through, on random stretches. */
#include "checker/properties/spans.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>

enum { OPS = 300, STEPS = 40000 };

static uint64_t state = 1;

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static struct span listed[OPS];
static bool in_list[OPS], found[OPS];
static int seen, wanted;
static uint64_t last_begin;
static bool in_order;

static bool see(void *context, uint32_t op)
{
    (void)context;
    in_order &= listed[op].begin >= last_begin && !found[op];
    last_begin = listed[op].begin;
    found[op] = true;
    return ++seen < wanted;
}

/* Whether the set finds what the list has. */
static bool is_right(const struct spans *spans)
{
    struct span span = {draw(1000), 0, OPS};
    span.end = span.begin + 1 + draw(draw(4) ? 20 : 600);
    int overlapping = 0;
    for (int i = 0; i < OPS; i++)
        overlapping += in_list[i] && listed[i].begin < span.end && span.begin < listed[i].end;
    wanted = draw(3) ? OPS + 1 : 2;
    memset(found, 0, sizeof found);
    seen = 0;
    last_begin = 0;
    in_order = true;
    spans_overlapping(spans, &span, see, NULL);
    for (int i = 0; i < OPS; i++)
        in_order &=
            !found[i] || (in_list[i] && listed[i].begin < span.end && span.begin < listed[i].end);
    return in_order && seen == (overlapping < wanted ? overlapping : wanted);
}

static void change_one(struct spans *spans)
{
    uint32_t op = draw(OPS);
    if (in_list[op]) {
        spans_remove(spans, &listed[op]);
        in_list[op] = false;
        return;
    }
    listed[op] = (struct span){draw(1000), 0, op};
    listed[op].end = listed[op].begin + 1 + draw(draw(5) ? 10 : 800);
    if (draw(10) == 0)
        spans_remove(spans, &listed[op]); /* not there */
    spans_add(spans, &listed[op]);
    in_list[op] = true;
}

int main(void)
{
    struct spans spans = {0};
    int wrong = 0, asked = 0;
    for (int step = 0; step < STEPS; step++) {
        if (step == STEPS / 2) {
            spans_clear(&spans);
            memset(in_list, 0, sizeof in_list);
        }
        change_one(&spans);
        wrong += !is_right(&spans);
        asked += seen;
    }
    tap_is_int(wrong, 0, "the set finds what overlaps, in order, until it is told to stop");
    tap_ok(asked > STEPS, "and there was much to find");
    spans_release(&spans);
    return tap_done();
}
