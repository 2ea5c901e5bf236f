/* The board: see board.h. */
#include "cli/running/board.h"

#include "traces/base/failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

static const uint64_t known_mark = 0x6472616f626e7572u;

/* Of this process and of those it forks: what a program writes by accident does not fit it. */
static uint64_t key;

static size_t board_bytes(int ranks)
{
    return sizeof(struct board) + (size_t)ranks * sizeof(struct board_rank);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static uint64_t rank_seal(const struct board_rank *row, int rank)
{
    uint64_t seal = mix(key, (uint64_t)(uint32_t)row->state << 32 | (uint32_t)row->exit_code);
    seal = mix(mix(seal, row->place), row->bias);
    return mix(seal,
               (uint64_t)(uint32_t)rank << 32 | (uint32_t)row->overflow << 8 | row->finalized);
}

static uint64_t value_seal(int value, uint64_t purpose)
{
    return mix(mix(key, purpose), (uint32_t)value);
}

enum { SEAL_OUTCOME = 1, SEAL_FAILURE };

void board_seal(struct board *board, int rank)
{
    board->ranks[rank].seal = rank_seal(&board->ranks[rank], rank);
}

void board_note_outcome(struct board *board, enum trace_outcome outcome)
{
    board->outcome_seal = value_seal((int)outcome, SEAL_OUTCOME);
    board->outcome = (int)outcome;
}

void board_note_failure(struct board *board, int code, const char *text)
{
    snprintf(board->failure, sizeof board->failure, "%s", text);
    board->failure_seal = value_seal(code, SEAL_FAILURE);
    board->failure_code = code;
}

static void board_clear(struct board *board, int ranks)
{
    memset(board, 0, board_bytes(ranks));
    board->mark = board->end_mark = known_mark;
    board->ranks_count = ranks;
    board->outcome = -1;
    board->outcome_seal = value_seal(-1, SEAL_OUTCOME);
    board->failure_seal = value_seal(0, SEAL_FAILURE);
    board->running = -1;
    board->computing.rank = -1;
    board->standing.rank = -1;
    board->first_failure.rank = -1;
    for (int rank = 0; rank < ranks; rank++)
        board_seal(board, rank);
}

struct board *board_new(int ranks)
{
    struct board *board =
        mmap(NULL, board_bytes(ranks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED)
        return NULL;
    while (!key && getrandom(&key, sizeof key, GRND_NONBLOCK) < 0)
        key = (uint64_t)(uintptr_t)board | 1; /* too early in a machine's life for more */
    board_clear(board, ranks);
    return board;
}

void board_free(struct board *board, int ranks)
{
    if (board)
        munmap(board, board_bytes(ranks));
}

/* The child may have been ended between an outcome and its seal: then there is none yet. */
static bool values_sealed(const struct board *board)
{
    bool outcome = board->outcome_seal == value_seal(board->outcome, SEAL_OUTCOME);
    bool begun = board->outcome == -1 && board->outcome_seal != 0;
    bool known = board->outcome >= -1 && board->outcome <= (int)OUTCOME_IMPORTED;
    bool failure = board->failure_seal == value_seal(board->failure_code, SEAL_FAILURE) ||
                   (board->failure_code == 0 && board->failure[0]);
    return (outcome || begun) && known && failure;
}

static bool ranks_sealed(const struct board *board, int ranks)
{
    for (int rank = 0; rank < ranks; rank++)
        if (board->ranks[rank].seal != rank_seal(&board->ranks[rank], rank) ||
            board->ranks[rank].state < 0 || board->ranks[rank].state > (int32_t)RANK_RUNNING)
            return false;
    return true;
}

/* Read as bytes: a bool of another value is none. */
static bool is_flag(const bool *flag)
{
    unsigned char byte;
    memcpy(&byte, flag, 1);
    return byte <= 1;
}

static bool rank_fits(int rank, int ranks)
{
    return rank >= -1 && rank < ranks;
}

static bool is_whole(const struct board *board, int ranks)
{
    const struct sim_first_failure *first = &board->first_failure;
    return board->mark == known_mark && board->end_mark == known_mark &&
           board->ranks_count == ranks && values_sealed(board) && ranks_sealed(board, ranks) &&
           rank_fits(first->rank, ranks) && is_flag(&first->crashed) && is_flag(&first->aborted) &&
           memchr(first->refused, 0, sizeof first->refused) &&
           memchr(first->stray.text, 0, sizeof first->stray.text) &&
           rank_fits(first->stray.rank - 1, ranks) &&
           memchr(board->failure, 0, sizeof board->failure) &&
           memchr(board->refused, 0, sizeof board->refused) &&
           board->modules_count <= BOARD_MODULES && rank_fits(board->computing.rank, ranks) &&
           rank_fits(board->standing.rank, ranks) && rank_fits(board->running, ranks);
}

struct board *board_take(const struct board *shared, int ranks, bool *damaged)
{
    struct board *copy = malloc(board_bytes(ranks));
    if (!copy)
        return NULL;
    memcpy(copy, shared, board_bytes(ranks));
    *damaged = !is_whole(copy, ranks);
    if (*damaged)
        board_clear(copy, ranks);
    return copy;
}

static bool locate_module(const struct board *board, uint64_t offset, const char **file,
                          uint64_t *address)
{
    for (uint32_t i = 0; i < board->modules_count && i < BOARD_MODULES; i++) {
        const struct board_module *module = &board->modules[i];
        if (offset < module->start || offset >= module->end ||
            !memchr(module->path, 0, sizeof module->path))
            continue;
        *file = module->path;
        *address = offset - module->shift;
        return true;
    }
    return false;
}

bool board_locate(void *context, uint32_t rank, uint64_t pc, const char **file, uint64_t *address)
{
    const struct board_locate *locate = context;
    if (rank >= (uint32_t)locate->ranks)
        return false;
    uint64_t offset = pc - locate->board->ranks[rank].bias;
    if (!locate->board->ranks[rank].bias)
        return false;
    *file = locate->object;
    *address = offset;
    return offset < locate->board->image_size ||
           locate_module(locate->board, offset, file, address);
}
