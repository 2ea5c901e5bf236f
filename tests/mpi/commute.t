#!/usr/bin/perl
# Operations of the program's own that it declares commutative: MPI may take their operands in any order, simrun takes them in that of
# the ranks. With --memory (so in prove) it swaps a few: one whose result changes is a gap, and its program is not proven.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

$ENV{CC} = 'gcc'; # PROVEN needs its plugin
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
chdir scratch_folder() or die;
open my $file, '>', 'commute.c' or die;
print $file <<'C';
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
struct four { int a, b, c, d; }; /* a matrix of two by two; a value and its place */
static const char *what;
static void combine(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) {
        struct four x = ((struct four *)in)[i], *y = (struct four *)inout + i, z = *y;
        if (!strcmp(what, "sums"))
            *y = (struct four){x.a + z.a, x.b + z.b, x.c + z.c, x.d + z.d};
        if (!strcmp(what, "product"))
            *y = (struct four){x.a * z.a + x.b * z.c, x.a * z.b + x.b * z.d, x.c * z.a + x.d * z.c, x.c * z.b + x.d * z.d};
        if (!strcmp(what, "least") && x.a <= z.a) /* of equal ones the left */
            *y = x;
        if (!strcmp(what, "least-place") && (x.a < z.a || (x.a == z.a && x.b < z.b)))
            *y = x;
        if (!strcmp(what, "first-part")) /* the rest is not the datatype's */
            y->a = x.a * z.a, y->d = x.d;
    }
}
int main(int argc, char **argv)
{
    int rank, size, commutes = atoi(argv[2]);
    MPI_Op op;
    MPI_Datatype type, four;
    what = argv[1];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    struct four own = {1, rank, 1, rank + 1}, all = {0, 0, 0, 0};
    MPI_Type_contiguous(!strcmp(what, "first-part") ? 1 : 4, MPI_INT, &type);
    MPI_Type_create_resized(type, 0, sizeof own, &four);
    MPI_Type_commit(&four);
    MPI_Op_create(combine, commutes, &op);
    MPI_Request request;
    switch (argv[3][0]) {
    case 'r': MPI_Reduce(&own, &all, 1, four, op, size - 1, MPI_COMM_WORLD); break;
    case 'a': MPI_Allreduce(&own, &all, 1, four, op, MPI_COMM_WORLD); break;
    case 's': MPI_Scan(&own, &all, 1, four, op, MPI_COMM_WORLD); break;
    case 'i': MPI_Iallreduce(&own, &all, 1, four, op, MPI_COMM_WORLD, &request); MPI_Wait(&request, MPI_STATUS_IGNORE); break;
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Type_free(&four);
    MPI_Finalize();
    return 0;
}
C
close $file;
# Which of them commute is arithmetic; (A, r) takes another place for equal values: (1, 0) and (1, 1).
my %commutes = (sums => 1, product => 0, least => 0, 'least-place' => 1, 'first-part' => 1);
for my $what (sort keys %commutes) {
    for my $declared (0, 1) {
        for my $call ($what eq 'product' ? qw(reduce allreduce scan iallreduce) : 'allreduce') {
            my $said = join ' ', split ' ', qx{'$simrun' prove --db none -n 3 commute.c $what $declared $call 2>&1};
            my $wrong = $declared && !$commutes{$what};
            is(join(' ', $said =~ /^(\w+)/, $said =~ /not covered: an operation (that is declared commutative)/), $wrong ? 'PASS that is declared commutative' : 'PROVEN',
                "$what in $call, declared as " . ($declared ? 'commutative' : 'none')) or diag($said);
        }
    }
}
unlike(scalar qx{'$simrun' --db none -n 3 commute.c product 1 reduce 2>&1}, qr/commutative/, 'without --memory nothing is called that MPI need not call');
done_testing;
