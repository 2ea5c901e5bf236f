/* Buffers against the variables that they lie in (buffers.c): variables of six types in places of many kinds, sent as each of eight datatypes, in as many
 * elements as there are, fewer and more. What C says of the variable tells whether the number is one of its numbers, and where
 * it ends. Datatypes that lead from one variable to the next; and blocks that are left. */
#include "sim/memory/objects.h"
#include "sim/memory/pending.h"
#include "sim/memory/scope.h"
#include "sim/memory/typed.h"
#include "sim/worlds/rank.h"
#include "tests/machine/buffers.h"
#include "tests/machine/compiled.h"
#include "tests/world_harness.h"

static const struct {
    MPI_Datatype type;
    size_t size;
    enum buffer_kind kind;
    bool bytes; /* moves anything */
} moved[] = {{MPI_CHAR, 1, BUFFER_CHARACTERS, false},
             {MPI_BYTE, 1, BUFFER_CHARACTERS, true},
             {MPI_SHORT, sizeof(short), BUFFER_INTEGERS, false},
             {MPI_INT, sizeof(int), BUFFER_INTEGERS, false},
             {MPI_LONG, sizeof(long), BUFFER_INTEGERS, false},
             {MPI_UNSIGNED, sizeof(int), BUFFER_INTEGERS, false},
             {MPI_FLOAT, sizeof(float), BUFFER_FLOATING, false},
             {MPI_DOUBLE, sizeof(double), BUFFER_FLOATING, false}};
enum { MOVED = sizeof moved / sizeof *moved };

/* ---- what C says ---- */

static bool known; /* objects are */
static char wrong[300];
static int fitting, misfits, neighbours;

/* Of characters moved: in what is no character they must not end within a number, nor be as many as the numbers. */
static bool expected_right(const struct buffer *buffer, int m, size_t count, size_t elements)
{
    size_t bytes = count * moved[m].size;
    bool numbers = buffer->kind != BUFFER_CHARACTERS;
    if (!buffer->pointed && bytes > buffer->size * buffer->count)
        return false;
    if (numbers && moved[m].kind != BUFFER_CHARACTERS)
        return moved[m].kind == buffer->kind && moved[m].size == buffer->size;
    if (numbers && !moved[m].bytes)
        return bytes % buffer->size == 0 && !(elements > 1 && bytes == elements);
    return true;
}

static void *allocated[64];
static int allocations;

static void *allocate(size_t size)
{
    void *memory = allocated[allocations++] = malloc(size);
    if (known)
        sim_objects_add(memory, size, __builtin_return_address(0));
    return memory;
}

/* ---- one variable and the next ---- */

enum maker { STRUCT, HINDEXED, BLOCKS, MAKERS };
enum wrapping { NONE, DUP, RESIZED, WRAPPINGS };

/* So many blocks of so many elements each, one behind the other. */
static MPI_Datatype made_of(int m, enum maker maker, bool large, enum wrapping wrapping, int blocks,
                            int each)
{
    MPI_Datatype types[3] = {moved[m].type, moved[m].type, moved[m].type}, type, wrapped;
    MPI_Aint places[3];
    MPI_Count wide_places[3], wide_lengths[3];
    int lengths[3];
    for (int i = 0; i < 3; i++) {
        wide_lengths[i] = lengths[i] = each;
        wide_places[i] = places[i] = i * each * (int)moved[m].size;
    }
    if (maker == STRUCT && large)
        MPI_Type_create_struct_c(blocks, wide_lengths, wide_places, types, &type);
    else if (maker == STRUCT)
        MPI_Type_create_struct(blocks, lengths, places, types, &type);
    else if (maker == HINDEXED && large)
        MPI_Type_create_hindexed_c(blocks, wide_lengths, wide_places, types[0], &type);
    else if (maker == HINDEXED)
        MPI_Type_create_hindexed(blocks, lengths, places, types[0], &type);
    else if (large)
        MPI_Type_create_hindexed_block_c(blocks, each, wide_places, types[0], &type);
    else
        MPI_Type_create_hindexed_block(blocks, each, places, types[0], &type);
    if (wrapping == NONE)
        return type;
    if (wrapping == DUP)
        MPI_Type_dup(type, &wrapped);
    else
        MPI_Type_create_resized(type, 0, 64, &wrapped);
    MPI_Type_free(&type);
    return wrapped;
}

/* Blocks that begin where variables do are meant; what begins within one, or reaches over from another, is not. */
static void ask_neighbours(const struct buffer *buffer)
{
    int m = 0;
    while (moved[m].size != buffer->size || moved[m].kind != buffer->kind)
        m++;
    for (int way = 0; way < MAKERS * WRAPPINGS * 2; way++)
        for (int blocks = 1; blocks < (buffer->next_is_two ? 4 : 3); blocks++) {
            enum maker maker = (enum maker)(way % MAKERS);
            MPI_Datatype type =
                made_of(m, maker, way / MAKERS % 2, (enum wrapping)(way / MAKERS / 2), blocks,
                        blocks == 1 ? 2 : 1);
            struct sim_region region = {(uintptr_t)buffer->at, sim_datatype_get(type), 1, false,
                                        "buffer"};
            struct sim_scope scope;
            bool right = blocks == 2;
            enum sim_typed typed =
                sim_typed_check(sim_current_rank, &region, "Send", "reads", &scope);
            neighbours++;
            if (typed != (right ? SIM_TYPED_RIGHT : SIM_TYPED_WRONG) && !*wrong)
                snprintf(wrong, sizeof wrong,
                         "%d blocks of datatype %d over neighbours, made in way %d: answer %d",
                         blocks, m, way, typed);
            MPI_Type_free(&type);
        }
}

/* ---- blocks that are left ---- */

static struct sim_scope inner;

static void ask_left(bool left)
{
    for (int i = 0; i < 2; i++) /* what is remembered is the same */
        if (sim_scope_left(&inner) != left && !*wrong)
            snprintf(wrong, sizeof wrong, "that the block of %s is left is not %d", inner.variable,
                     left);
}

/* Of another rank, and of absolute addresses. */
static void ask_nothing(const struct buffer *buffer)
{
    static struct sim_rank other;
    for (int i = 0; i < 2; i++) {
        struct sim_region region = {i ? (uintptr_t)buffer->at : 0, sim_datatype_get(MPI_INT), 1,
                                    false, "buffer"};
        struct sim_scope scope = {.file = "none"};
        enum sim_typed typed =
            sim_typed_check(i ? &other : sim_current_rank, &region, "Send", "reads", &scope);
        if ((typed != SIM_TYPED_NOT_KNOWN || scope.file) && !*wrong)
            snprintf(wrong, sizeof wrong, "%s: what is not asked is answered by %d", buffer->place,
                     typed);
    }
}

static void ask(const struct buffer *buffer)
{
    if (!buffer->at)
        ask_left(true);
    if (buffer->next)
        ask_neighbours(buffer);
    if (!buffer->at || buffer->next || (!known && strstr(buffer->place, "list")))
        return;
    ask_nothing(buffer);
    for (int m = 0; m < MOVED; m++) {
        size_t fit = buffer->size * buffer->count / moved[m].size,
               counts[] = {1, fit, fit + 1, buffer->count};
        for (size_t i = 0; i < 4; i++) {
            struct sim_region region = {(uintptr_t)buffer->at, sim_datatype_get(moved[m].type),
                                        counts[i], false, "buffer"};
            struct sim_scope scope;
            /* A structure's members are several leaves; an array's elements before the buffer count, too: there as many characters as
             * numbers are not told from fewer. */
            bool within = strstr(buffer->place, "structure") || strstr(buffer->place, "member");
            bool cuts = moved[m].kind == BUFFER_CHARACTERS && !moved[m].bytes &&
                        buffer->kind != BUFFER_CHARACTERS;
            if (!counts[i] || (cuts && (within || strstr(buffer->place, "middle") ||
                                        strstr(buffer->place, "the end"))))
                continue;
            bool beyond =
                buffer->pointed && counts[i] * moved[m].size > buffer->size * buffer->count;
            if (beyond || (buffer->pointed && !known && strstr(buffer->place, "middle")))
                continue; /* objects tell that themselves; nothing points to the middle of one */
            bool right =
                expected_right(buffer, m, counts[i], buffer->pointed && !known ? 0 : buffer->count);
            struct sim_scope scopes[2] = {{.file = "none"}, {.file = "none"}};
            enum sim_typed typed, answers[2];
            for (int again = 0; again < 2; again++) /* what is remembered is the same */
                answers[again] =
                    sim_typed_check(sim_current_rank, &region, "Send", "reads", &scopes[again]);
            scope = scopes[1];
            typed = answers[1];
            bool same =
                typed == answers[0] && scopes[0].file == scope.file &&
                (!scope.file || (scopes[0].variable == scope.variable &&
                                 scopes[0].block == scope.block && scopes[0].cfa == scope.cfa));
            bool is_right = typed == SIM_TYPED_RIGHT ||
                            (buffer->pointed && !known && typed == SIM_TYPED_UNBOUNDED);
            bool said = right ? is_right : typed == SIM_TYPED_WRONG;
            bool scoped =
                !right || (buffer->block ? scope.file && !strcmp(scope.variable, buffer->block)
                                         : !scope.file);
            if (scope.file) {
                inner = scope;
                ask_left(false);
            }
            fitting += right;
            misfits += !right;
            if ((!said || !scoped || !same) && !*wrong)
                snprintf(wrong, sizeof wrong,
                         "%s of kind %d and size %zu, datatype %d, %zu elements: answer %d, "
                         "expected %s; scope %s",
                         buffer->place, buffer->kind, buffer->size, m, counts[i], typed,
                         right ? "right" : "wrong", scope.file ? scope.variable : "none");
        }
    }
}

static void (*show)(buffer_ask *, buffer_allocate *, int);

static void body(int rank, int size)
{
    (void)rank, (void)size;
    sim_pending_watch(sim_current_rank);
    show(ask, allocate, 9);
    while (allocations)
        free(allocated[--allocations]);
    expect(true, "it came to its end");
}

static void test(const char *compiler)
{
    void *library = compiled("buffers", "buffers", "-g -O0", 0);
    if (!library) {
        tap_skip(2, "%s is not there", compiler);
        return;
    }
    *(void **)&show = dlsym(library, "buffers_show");
    for (int i = 0; i < 2; i++) {
        known = i;
        *wrong = '\0';
        fitting = misfits = 0;
        struct world_result result = world_try(world_options(1), body);
        tap_is_str(result.outcome == OUTCOME_FINISHED ? wrong : world_outcomes[result.outcome], "",
                   "%s: %d buffers fit and %d do not, as C says; objects are %sknown", compiler,
                   fitting, misfits, known ? "" : "not ");
    }
}

int main(void)
{
    tap_plan(3);
    test("gcc");
    tap_ok(fitting > 200 && misfits > 200 && neighbours > 200, "of both kinds there are enough");
    return tap_done();
}
