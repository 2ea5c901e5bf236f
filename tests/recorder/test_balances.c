/* Which messages of a channel have lost their other half, against a list that is looked through from
 * its start: random channels that come and go, few so that they meet again, many so that the table
 * grows and even ones leave it. */
#include "recorder/balances.h"

#include "tests/dice.h"
#include "tests/tap.h"

enum { CHANNELS = 6000 };

static struct balance channels[CHANNELS]; /* `sends` as they should be */

/* Neighbours differ in one thing, each in turn. */
static struct balance channel_at(uint32_t number)
{
    struct balance channel = {.comm = number % 3,
                              .source = (int32_t)(number / 3 % 4),
                              .destination = (int32_t)(number / 12 % 5) - 1,
                              .tag = (int32_t)(number / 60)};
    if (channel.comm == 2)
        channel.comm = UINT64_C(0x100000001); /* the upper half counts */
    if (number % 7 == 0)
        channel.destination = channel.tag = BALANCE_COLLECTIVE;
    return channel;
}

static bool same_channel(const struct balance *one, const struct balance *other)
{
    return one->comm == other->comm && one->source == other->source &&
           one->destination == other->destination && one->tag == other->tag;
}

/* The first of the list that is the same, as collectives have one for all tags. */
static struct balance *model_of(const struct balance *channel)
{
    uint32_t at = 0;
    while (at < CHANNELS && !same_channel(&channels[at], channel))
        at++;
    return &channels[at];
}

static int run(uint32_t among, int steps, uint64_t seed)
{
    struct balances balances = {0};
    int wrong = 0;
    for (uint32_t i = 0; i < CHANNELS; i++)
        channels[i] = channel_at(i);
    for (int i = 0; i < steps; i++) {
        struct balance channel = channel_at(dice_below(&seed, among));
        struct balance *model = model_of(&channel);
        if (dice_below(&seed, 2)) {
            channel.sends = (int64_t)dice_below(&seed, 7) - 3;
            balances_add(&balances, &channel);
            model->sends += channel.sends;
        } else {
            bool sends = dice_below(&seed, 2);
            bool lost = sends ? model->sends < 0 : model->sends > 0;
            wrong += balances_next(&balances, &channel, sends) != lost;
            wrong += balances_take(&balances, &channel, sends) != lost;
            model->sends += !lost ? 0 : sends ? 1 : -1;
        }
    }
    /* what is left is taken to its end */
    for (uint32_t i = 0; i < among; i++) {
        struct balance channel = channel_at(i), *model = model_of(&channel);
        for (; model->sends; model->sends += model->sends < 0 ? 1 : -1)
            wrong += !balances_take(&balances, &channel, model->sends < 0);
        wrong +=
            balances_take(&balances, &channel, true) + balances_take(&balances, &channel, false);
    }
    wrong += balances.failed || 2 * balances.used > balances.room + 2;
    balances_release(&balances);
    return wrong + (balances.slots || balances.room || balances.used);
}

int main(void)
{
    struct balances none = {0};
    struct balance channel = {0};
    tap_ok(!balances_take(&none, &channel, true) && !balances_take(&none, &channel, false) &&
               !balances_next(&none, &channel, false),
           "where nothing is gone nobody has lost a partner");
    tap_is_int(run(1, 200, 1), 0, "one channel");
    tap_is_int(run(40, 2000, 2), 0, "few channels");
    tap_is_int(run(600, 6000, 3), 0, "some channels, in a table that is full");
    tap_is_int(run(CHANNELS, 12000, 4), 0, "many channels, in a table that grows");
    return tap_done();
}
