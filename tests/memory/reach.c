/* Buffers reached in fifty ways; the words choose the way, the datatype and the count. Run by reach.t, which compiles it for several
 * element types T and levels of optimisation. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef T
#define T double
#endif
#define N 10
static int count, rank;
static MPI_Datatype type;
#define MOVE(b)                                                                                    \
    do {                                                                                           \
        if (rank == 0)                                                                             \
            MPI_Send((b), count, type, 1, 0, MPI_COMM_WORLD);                                      \
        else if (rank == 1)                                                                        \
            MPI_Recv((b), count, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);                   \
    } while (0)
struct inner {
    char name[8];
    T *data;
};
struct grid {
    int n;
    T *values;
    T fixed[N];
    short after[4];
    struct inner in;
    T **rows;
    void *hidden;
    struct grid *next;
};
struct flex {
    int n;
    double pad;
    T values[];
};
#define NOI __attribute__((noinline))
static struct grid global;
static struct grid *pglobal;
static T *lines[3];
T *visible;
static NOI T *make(int n)
{
    return calloc(n, sizeof(T));
}
static NOI T *make2(int n)
{
    T *p = calloc(n, sizeof(T));
    if (!p)
        abort();
    return p;
}
static NOI void *xmalloc(size_t n)
{
    void *p = malloc(n);
    if (!p)
        abort();
    memset(p, 0, n);
    return p;
}
static NOI struct grid *grid_new(int n)
{
    struct grid *g = malloc(sizeof *g);
    memset(g, 0, sizeof *g);
    g->n = n;
    g->values = calloc(n, sizeof(T));
    return g;
}
static NOI void swap_typed(T *v)
{
    MOVE(v);
}
static NOI void swap_void(void *v)
{
    MOVE(v);
}
static NOI void swap_grid(struct grid *g)
{
    MOVE(g->values);
}
static NOI void swap_const(const struct grid *g)
{
    MOVE(g->values);
    MPI_Barrier(MPI_COMM_WORLD);
}
static NOI void deep3(void *v)
{
    MOVE(v);
}
static NOI void deep2(void *v)
{
    deep3(v);
}
static NOI void deep1(void *v)
{
    deep2(v);
}
static NOI void vla(int n)
{
    T v[n];
    memset(v, 0, sizeof v);
    MOVE(v);
}
static NOI void vla_used(int n)
{
    T v[n];
    memset(v, 0, sizeof v);
    MOVE(v);
    for (int i = 0; i < n; i++)
        if (v[i] != 0)
            printf("x");
}
static NOI void vla2(int n, int m)
{
    T v[n][m];
    memset(v, 0, sizeof v);
    MOVE(v);
}
static NOI void vla2p(int n, int m)
{
    T(*v)[m] = calloc(n, sizeof *v);
    MOVE(v);
    free(v);
}
static NOI void vlarow(int n, int m)
{
    T v[n][m];
    memset(v, 0, sizeof v);
    MOVE(v[0]);
}
static NOI void vlaparam(int n, T v[n])
{
    MOVE(v);
}
static NOI void all2(T v[2][5])
{
    MOVE(v);
}
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 4)
        return 2;
    const char *t = argv[2];
    count = atoi(argv[3]);
    type = !strcmp(t, "double")  ? MPI_DOUBLE
           : !strcmp(t, "int")   ? MPI_INT
           : !strcmp(t, "float") ? MPI_FLOAT
           : !strcmp(t, "long")  ? MPI_LONG
           : !strcmp(t, "char")  ? MPI_CHAR
                                 : MPI_SHORT;
    int n = argc > 4 ? atoi(argv[4]) : N;
    switch (atoi(argv[1])) {
    case 0: {
        T v[N];
        memset(v, 0, sizeof v);
        MOVE(v);
        break;
    }
    case 1: {
        static T v[N];
        MOVE(v);
        break;
    }
    case 2: {
        T *v = malloc(n * sizeof(T));
        memset(v, 0, n * sizeof(T));
        MOVE(v);
        free(v);
        break;
    }
    case 3: {
        T *v = make(n);
        MOVE(v);
        free(v);
        break;
    }
    case 4: {
        T *v = make2(n);
        MOVE(v);
        free(v);
        break;
    }
    case 5: {
        T *v = xmalloc(n * sizeof(T));
        MOVE(v);
        free(v);
        break;
    }
    case 6: {
        struct grid *g = grid_new(n);
        MOVE(g->values);
        free(g->values);
        free(g);
        break;
    }
    case 7: {
        struct grid *g = grid_new(n);
        swap_grid(g);
        free(g->values);
        free(g);
        break;
    }
    case 8: {
        struct grid *g = grid_new(n);
        swap_const(g);
        free(g->values);
        free(g);
        break;
    }
    case 9: {
        struct grid g;
        memset(&g, 0, sizeof g);
        g.values = calloc(n, sizeof(T));
        MOVE(g.values);
        free(g.values);
        break;
    }
    case 10: {
        struct grid g;
        memset(&g, 0, sizeof g);
        MOVE(g.fixed);
        break;
    }
    case 11: {
        struct grid g;
        memset(&g, 0, sizeof g);
        g.in.data = calloc(n, sizeof(T));
        MOVE(g.in.data);
        free(g.in.data);
        break;
    }
    case 12: {
        struct grid *g = grid_new(n);
        g->in.data = calloc(n, sizeof(T));
        MOVE(g->in.data);
        free(g->in.data);
        free(g->values);
        free(g);
        break;
    }
    case 13: {
        global.values = calloc(n, sizeof(T));
        MOVE(global.values);
        free(global.values);
        break;
    }
    case 14: {
        pglobal = grid_new(n);
        MOVE(pglobal->values);
        free(pglobal->values);
        free(pglobal);
        break;
    }
    case 15: {
        lines[1] = calloc(n, sizeof(T));
        MOVE(lines[1]);
        free(lines[1]);
        break;
    }
    case 16: {
        T *v[3];
        for (int i = 0; i < 3; i++)
            v[i] = calloc(n, sizeof(T));
        MOVE(v[2]);
        for (int i = 0; i < 3; i++)
            free(v[i]);
        break;
    }
    case 17: {
        T **v = malloc(3 * sizeof *v);
        for (int i = 0; i < 3; i++)
            v[i] = calloc(n, sizeof(T));
        MOVE(v[2]);
        for (int i = 0; i < 3; i++)
            free(v[i]);
        free(v);
        break;
    }
    case 18: {
        T *v = calloc(n, sizeof(T));
        swap_typed(v);
        free(v);
        break;
    }
    case 19: {
        T *v = calloc(n, sizeof(T));
        swap_void(v);
        free(v);
        break;
    }
    case 20: {
        T *v = calloc(n, sizeof(T));
        deep1(v);
        free(v);
        break;
    }
    case 21: {
        T v[N];
        memset(v, 0, sizeof v);
        deep1(v);
        break;
    }
    case 22:
        vla(n);
        break;
    case 23:
        vla_used(n);
        break;
    case 24:
        vla2(2, n / 2);
        break;
    case 25:
        vla2p(2, n / 2);
        break;
    case 26: {
        T *v = calloc(n, sizeof(T));
        vlaparam(n, v);
        free(v);
        break;
    }
    case 27: {
        T v[2][5];
        memset(v, 0, sizeof v);
        MOVE(v);
        break;
    }
    case 28: {
        T v[2][5];
        memset(v, 0, sizeof v);
        all2(v);
        break;
    }
    case 29: {
        T(*v)[5] = calloc(2, sizeof *v);
        MOVE(v);
        free(v);
        break;
    }
    case 30: {
        T(*v)[5] = calloc(2, sizeof *v);
        MOVE(v[0]);
        free(v);
        break;
    }
    case 31: {
        T *v = calloc(n + 4, sizeof(T));
        MOVE(v + 4);
        free(v);
        break;
    }
    case 32: {
        T *v = calloc(n + 4, sizeof(T));
        swap_void(&v[4]);
        free(v);
        break;
    }
    case 33: {
        struct flex *f = calloc(1, sizeof *f + n * sizeof(T));
        MOVE(f->values);
        free(f);
        break;
    }
    case 34: {
        struct grid *g = calloc(1, sizeof *g);
        MOVE(g->fixed);
        free(g);
        break;
    }
    case 35: {
        struct grid *g = calloc(1, sizeof *g);
        g->rows = malloc(2 * sizeof *g->rows);
        g->rows[0] = calloc(n, sizeof(T));
        g->rows[1] = calloc(n, sizeof(T));
        MOVE(g->rows[1]);
        free(g->rows[0]);
        free(g->rows[1]);
        free(g->rows);
        free(g);
        break;
    }
    case 36: {
        struct grid *a = grid_new(n);
        a->next = grid_new(n);
        MOVE(a->next->values);
        free(a->next->values);
        free(a->next);
        free(a->values);
        free(a);
        break;
    }
    case 37: {
        visible = malloc(n * sizeof(T));
        memset(visible, 0, n * sizeof(T));
        MOVE(visible);
        free(visible);
        break;
    }
    case 38: {
        T *v = malloc(n * sizeof(T));
        memset(v, 0, n * sizeof(T));
        T *end = v + n;
        for (T *p = v; p < end; p++)
            *p = 1;
        MOVE(v);
        if (v[0] == 2)
            printf("x");
        free(v);
        break;
    }
    case 39: {
        T *v;
        MPI_Alloc_mem(n * sizeof(T), MPI_INFO_NULL, &v);
        memset(v, 0, n * sizeof(T));
        MOVE(v);
        MPI_Free_mem(v);
        break;
    }
    case 40: {
        T *v;
        if (posix_memalign((void **)&v, 64, n * sizeof(T)))
            abort();
        memset(v, 0, n * sizeof(T));
        MOVE(v);
        free(v);
        break;
    }
    case 41: {
        T *v = NULL;
        v = realloc(v, n * sizeof(T));
        memset(v, 0, n * sizeof(T));
        MOVE(v);
        free(v);
        break;
    }
    case 42: {
        T *v = aligned_alloc(sizeof(T), n * sizeof(T)); /* a multiple, as the standard wants it */
        memset(v, 0, n * sizeof(T));
        MOVE(v);
        free(v);
        break;
    }
    case 43: {
        T *v = __builtin_alloca(n * sizeof(T));
        memset(v, 0, n * sizeof(T));
        MOVE(v);
        break;
    }
    case 44: {
        free(malloc(n * 16));
        T *v = calloc(n, sizeof(T));
        MOVE(v);
        free(v);
        break;
    }
    case 45: {
        struct grid *a = malloc(sizeof *a);
        memset(a, 0, sizeof *a);
        free(a);
        struct grid *g = grid_new(n);
        MOVE(g->values);
        free(g->values);
        free(g);
        break;
    }
    case 46:
        vlarow(2, n / 2);
        break;
    case 47: {
        T v = 0;
        MOVE(&v);
        break;
    }
    case 48: {
        struct grid g[3];
        memset(g, 0, sizeof g);
        MOVE(g[1].fixed);
        break;
    }
    case 49: {
        T *u = calloc(n, sizeof(T)), *v = calloc(n, sizeof(T));
        for (int i = 0; i < 2; i++) {
            T *w = u;
            u = v;
            v = w;
            MOVE(u);
        }
        free(u);
        free(v);
        break;
    }
    }
    MPI_Finalize();
    return 0;
}
