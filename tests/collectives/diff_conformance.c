/* The conformance suite under mpirun, on any MPI: prints TAP on rank 0.
 *
 *   diff_conformance [THIN [FOLDER]]
 *
 * THIN takes every so many-th case; each rank writes its values to FOLDER/conformance.RANK. */
#include "tests/collectives/diff_conformance.h"

#include "tests/tap.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    struct conf_options options = {.thin = argc > 1 ? (unsigned)atoi(argv[1]) : 1};
    struct conf_kept kept = {0};
    if (argc > 2)
        options.kept = &kept;
    struct conf_result result;
    conformance_run(&options, &result);
    char path[4096];
    snprintf(path, sizeof path, "%s/conformance.%d", argc > 2 ? argv[2] : ".", rank);
    if (options.kept && !conf_kept_write(&kept, path)) {
        fprintf(stderr, "%s cannot be written\n", path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    conf_kept_release(&kept);
    long sums[3] = {result.failed, result.checks, result.cases}, all[3];
    MPI_Allreduce(sums, all, 3, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    char text[200];
    conformance_text(&result.first.at, text, sizeof text);
    if (result.failed)
        printf("# rank %d: %s of %s: got %.17g, expected %.17g +- %.3g\n", rank, result.first.what,
               text, result.first.got, result.first.expected, result.first.tolerance);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    int status = 0;
    if (rank == 0) {
        tap_plan(1);
        tap_note("%ld cases, %ld values compared on all ranks", result.cases, all[1]);
        tap_ok(all[0] == 0 && all[1] > 0,
               "every collective agrees with its references on this MPI");
        status = tap_done();
    }
    MPI_Finalize();
    return status;
}
