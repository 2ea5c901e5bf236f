#!/usr/bin/perl
# Displacements that lead out of the buffer altogether, as those in bytes where elements are meant: B006 at the call, of variables, static ones
# and allocated objects, read and written; right twins are right.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

$ENV{CC} = 'gcc';
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
chdir scratch_folder() or die;

my %memory = (
    stack => 'int all[COUNT] = {0};',
    static => 'static int all[COUNT];',
    allocated => 'int *all = calloc(COUNT, sizeof *all);',
);
my %calls = (
    Allgatherv => 'MPI_Allgatherv(own, 4, MPI_INT, all, counts, displs, MPI_INT, MPI_COMM_WORLD);',
    Igatherv => 'MPI_Igatherv(own, 4, MPI_INT, all, counts, displs, MPI_INT, 0, MPI_COMM_WORLD, &q); MPI_Wait(&q, MPI_STATUS_IGNORE);',
    Scatterv => 'MPI_Scatterv(all, counts, displs, MPI_INT, own, 4, MPI_INT, 0, MPI_COMM_WORLD);',
);
for my $memory (sort keys %memory) {
    for my $call (sort keys %calls) {
        for my $wrong (0, 1) {
            my $name = "${call}_${memory}_$wrong";
            my $unit = $wrong ? 'sizeof *own' : '1';
            open my $out, '>', "$name.c" or die;
            print $out <<"END";
#include <mpi.h>
#include <stdlib.h>
enum { RANKS = 2, COUNT = 4 * RANKS };
int main(int argc, char **argv)
{
    int own[4] = {0}, counts[RANKS], displs[RANKS], rank;
    MPI_Request q;
    (void)q;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    $memory{$memory}
    for (int i = 0; i < RANKS; i++) {
        counts[i] = 4;
        displs[i] = (int)(i * 4 * $unit);
    }
    $calls{$call}
    MPI_Finalize();
    return all[0];
}
END
            close $out;
            my $said = `timeout 100 '$simrun' -n 2 --db none --memory ./$name.c 2>&1`;
            my @codes = $said =~ /^([A-Z]\d{3}) /mg;
            is("@codes", $wrong ? 'B006' : '', "$call, $memory, " . ($wrong ? 'displacements in bytes' : 'in elements')) or diag($said);
            like($said, qr/^B006 (?:.*\n){1,4}?.*\Q$name\E\.c:16\b/m, 'at the call') if $wrong && "@codes" eq 'B006';
        }
    }
}
done_testing();
