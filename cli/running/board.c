/* The board: see board.h. */
#include "cli/running/board.h"

#include <string.h>
#include <sys/mman.h>

static size_t board_bytes(int ranks)
{
    return sizeof(struct board) + (size_t)ranks * sizeof(struct board_rank);
}

struct board *board_new(int ranks)
{
    struct board *board =
        mmap(NULL, board_bytes(ranks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED)
        return NULL;
    board->ranks_count = ranks;
    board->outcome = -1;
    board->computing.rank = -1;
    board->first_failure.rank = -1;
    return board;
}

void board_free(struct board *board)
{
    if (board)
        munmap(board, board_bytes(board->ranks_count));
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
    if (rank >= (uint32_t)locate->board->ranks_count)
        return false;
    uint64_t offset = pc - locate->board->ranks[rank].bias;
    if (!locate->board->ranks[rank].bias)
        return false;
    *file = locate->object;
    *address = offset;
    return offset < locate->board->image_size ||
           locate_module(locate->board, offset, file, address);
}
