/* What the naive references share: see reference.h. */
#include "collectives/operations/reference.h"

#include "collectives/operations/collective.h"

#include <complex.h>
#include <string.h>

void reference_copy(const struct reference_case *all, double *to, size_t to_begin,
                    const double *from, size_t from_begin, size_t count)
{
    memcpy(to + to_begin * all->parts, from + from_begin * all->parts,
           count * all->parts * sizeof *to);
}

/* One combination in the arithmetic of the type, so that the bits agree with a fold in rank order.
 */
static void combine_builtin(const struct reference_case *all, double *y, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double *a = y + i * all->parts;
        const double *b = x + i * all->parts;
        if (all->op == MPI_MAX || all->op == MPI_MAXLOC)
            a[0] = b[0] > a[0] ? b[0] : a[0];
        else if (all->op == MPI_MIN || all->op == MPI_MINLOC)
            a[0] = b[0] < a[0] ? b[0] : a[0];
        else
            TYPE_SWITCH(all->type, {
                T left, right;
                if (diff_type_is_complex(all->type)) {
                    double complex from_a = a[0] + a[1] * I, from_b = b[0] + b[1] * I;
                    left = (T)from_a;
                    right = (T)from_b;
                } else {
                    left = (T)a[0];
                    right = (T)b[0];
                }
                T result = all->op == MPI_PROD ? left * right : left + right;
                a[0] = (double)creal((double complex)result);
                if (all->parts == 2)
                    a[1] = (double)cimag((double complex)result);
            })
    }
}

static void combine_user(const struct reference_case *all, double *y, const double *x, size_t n)
{
    for (size_t i = 0; i < n * all->parts; i += all->parts) {
        union {
            float f[2];
            double d[2];
        } a, b, c;
        for (size_t k = 0; k < all->parts; k++)
            if (diff_type_is_single(all->type)) {
                a.f[k] = (float)y[i + k];
                b.f[k] = (float)x[i + k];
            } else {
                a.d[k] = y[i + k];
                b.d[k] = x[i + k];
            }
        all->rules->combine(all->type, 1, &a, &b, &c);
        for (size_t k = 0; k < all->parts; k++)
            y[i + k] = diff_type_is_single(all->type) ? (double)c.f[k] : c.d[k];
    }
}

void reference_fold(const struct reference_case *all, const struct reference_values *x,
                    size_t begin, size_t count, int last, double *y)
{
    reference_copy(all, y, 0, x[0].values, begin, count);
    for (int r = 1; r <= last; r++) {
        const double *from = x[r].values + begin * all->parts;
        if (all->rules)
            combine_user(all, y, from, count);
        else
            combine_builtin(all, y, from, count);
    }
    if (all->op == DIFF_AVG)
        for (size_t i = 0; i < count * all->parts; i++) {
            double scaled = y[i] * (1.0 / all->ranks);
            y[i] = diff_type_is_single(all->type)
                       ? (double)((float)y[i] * (float)(1.0 / all->ranks))
                       : scaled;
        }
}

reference_function *reference_find(const char *name)
{
    static const struct collective_rule *const rules[] = {&rule_allreduce,
                                                          &rule_reduce,
                                                          &rule_bcast,
                                                          &rule_gather,
                                                          &rule_gatherv,
                                                          &rule_scatter,
                                                          &rule_scatterv,
                                                          &rule_allgather,
                                                          &rule_allgatherv,
                                                          &rule_reduce_scatter,
                                                          &rule_reduce_scatter_block,
                                                          &rule_alltoall,
                                                          &rule_alltoallv,
                                                          &rule_alltoallw,
                                                          &rule_scan,
                                                          &rule_exscan,
                                                          &rule_barrier,
                                                          &rule_neighbor_allgather,
                                                          &rule_neighbor_allgatherv,
                                                          &rule_neighbor_alltoall,
                                                          &rule_neighbor_alltoallv,
                                                          &rule_neighbor_alltoallw};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rules[i]->blocking.name, name) == 0)
            return rules[i]->reference;
    return NULL;
}
