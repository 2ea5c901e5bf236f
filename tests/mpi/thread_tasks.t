#!/usr/bin/env perl
# OpenMP tasks that wait for messages: one that waits for ever is D001 at its line, although the other threads of its team are in the
# runtime; whose messages all come is right.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

$ENV{CC} = 'gcc';    # whose runtime's tasks are followed
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
plan skip_all => "the tasks of gcc's runtime alone are followed" if `ldd '$simrun'` =~ /libomp/;
chdir scratch_folder() or die;

my $tasks = "for (int i = 0; i < 6; i++) {\n#pragma omp task firstprivate(i) WITH\nTALK(i, tag(i));\n}\n";
sub single { my ($threads, $body) = @_; return "#pragma omp parallel num_threads($threads)\n#pragma omp single\n{\n$body}\n" }
my %forms = (
    single => single(2, $tasks),
    four => single(4, $tasks),
    waited => single(2, "$tasks#pragma omp taskwait\n"),
    at_once => single(2, $tasks =~ s/WITH/if(0)/r),
    within => single(2, "#pragma omp task\n{\n$tasks}\n"),
    after_the_body => "#pragma omp parallel num_threads(3)\n{\n#pragma omp master\n$tasks}\n",
    at_a_barrier => "#pragma omp parallel num_threads(3)\n{\n#pragma omp single nowait\n$tasks#pragma omp barrier\n#pragma omp single\n"
        . ($tasks =~ s/TALK.*/TALK(i + 10, i + 10);/r) . "}\n",
    in_the_second => single(2, $tasks =~ s/TALK.*/TALK(i + 10, i + 10);/r) . single(2, $tasks),
);

for my $name (sort keys %forms) {
    for my $wrong (0, 1) {
        my $text = <<"END";
#include <mpi.h>
static int in[32], out[32];
#define TALK(i, tag) if (rank == 0) MPI_Send(&out[i], 1, MPI_INT, 1, tag, MPI_COMM_WORLD); else MPI_Recv(&in[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
static int tag(int i) { return $wrong && i == 3 ? 999 : i; }
int main(int argc, char **argv)
{
    int rank, level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
$forms{$name}    MPI_Finalize();
    return 0;
}
END
        $text =~ s/ WITH//g;
        open my $out, '>', "$name.c" or die;
        print $out $text;
        close $out;
        my ($line) = grep { ((split /\n/, $text)[$_ - 1] // '') =~ /TALK\(i, tag\(/ } 1 .. 60;
        my $said = `timeout 100 '$simrun' -n 2 --os-threads --timeout 60 --db none ./$name.c 2>&1`;
        my $status = $? >> 8;
        is($status, $wrong, "$name: a task's message " . ($wrong ? 'never comes' : 'comes'));
        if ($wrong) {
            like($said, qr/^D001 [^\n]*\n?[^\n]*Recv at\s+\S*\Q$name\E\.c:$line\b/m, 'and the line is told') or diag($said);
        } else {
            unlike($said, qr/^[A-Z]\d{3} /m, 'and nothing is found');
        }
    }
}

done_testing();
