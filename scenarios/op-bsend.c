/* about: a ring of buffered sends, which wait for nobody, differentiated
 * ranks: 1,2,5
 * expect: eager=ok rendezvous=ok batch=ok
 * variant: start; arguments: start; expect: eager=ok rendezvous=ok batch=ok
 *
 * Everybody sends before he receives. The backward pass sends first as well, without the program's
 * buffer, and must wait for nobody either. */
#include "op.h"

#include <words.h>

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    const char *form = word_alone(argc, argv, "form", "send", "send start");
    struct diff_tensor *x = op_input(&op, 3), *y = diff_mul(x, x);
    int after = op_after(&op, 1), before = op_before(&op, 1), size;
    enum { ROOM = 4096 };
    void *room = malloc(ROOM);
    MPI_Buffer_attach(room, ROOM);
    for (int step = 0; step < 2; step++) {
        if (strcmp(form, "start") == 0) {
            diff_wait(diff_ibsend(y, after, step, MPI_COMM_WORLD));
            y = diff_wait(diff_irecv(x, before, step, MPI_COMM_WORLD));
        } else {
            diff_bsend(y, after, step, MPI_COMM_WORLD);
            y = diff_recv(x, before, step, MPI_COMM_WORLD);
        }
        y = diff_mul(y, x);
    }
    MPI_Buffer_detach(&room, &size);
    free(room);

    return op_end(&op, y);
}
