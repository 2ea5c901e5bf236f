/* Memory of the checker: tables grow and keep what they hold; what cannot be given ends the process with one sentence, however it cannot. */
#include "checker/memory.h"

#include "tests/sanitized.h"
#include "tests/tap.h"
#include "traces/base/failure.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void tables(void)
{
    enum { COUNT = 3000 };
    size_t room = 0, grown = 0, wrong = 0;
    uint32_t *table = NULL;
    for (uint32_t count = 0; count < COUNT; count++) {
        size_t before = room;
        table = check_grow(table, &room, count + 1, sizeof *table);
        grown += room != before;
        wrong += room < count + 1;
        table[count] = count * 7;
    }
    for (uint32_t i = 0; i < COUNT; i++)
        wrong += table[i] != i * 7;
    tap_is_int(wrong, 0, "a table keeps what it holds, and has the room that is needed");
    tap_ok(grown < 12, "and grows %zu times only", grown);
    table = check_grow(table, &room, 50000, sizeof *table);
    tap_ok(room >= 50000 && table[COUNT - 1] == (COUNT - 1) * 7, "by much at once, too");
    free(table);
    uint32_t *none = check_new(0, sizeof *none), *some = check_new(300, sizeof *some);
    for (size_t i = 0; i < 300; i++)
        wrong += some[i] != 0;
    tap_ok(none && !wrong, "a new one is empty, and of no rows it is one as well");
    free(none);
    free(some);
}

static void texts(void)
{
    char *text = check_text("%s%d", "number ", 12), *empty = check_text("%s", "");
    tap_is_str(text, "number 12", "a text is made as it is said");
    tap_is_str(empty, "", "and of nothing one without letters");
    free(text);
    free(empty);
}

/* What a child does that asks for a table whose bytes no number counts. A sanitizer's allocator ends it in another way. */
static void too_much(void)
{
    int ends[2], status = 0;
    size_t room = 0;
    char said[200] = "";
    if (pipe(ends) != 0)
        return;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        check_grow(NULL, &room, SIZE_MAX / 16 + 2, 16);
        _exit(0);
    }
    close(ends[1]);
    ssize_t length = read(ends[0], said, sizeof said - 1);
    close(ends[0]);
    waitpid(child, &status, 0);
    tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == FAILURE_INTERNAL,
           "too much ends the process");
    tap_ok(length > 0 && !strncmp(said, "simrun: out of memory in the checker", 36) &&
               strchr(said, '\n') == said + length - 1,
           "with one sentence");
}

int main(void)
{
    tables();
    texts();
    if (!SANITIZED)
        too_much();
    return tap_done();
}
