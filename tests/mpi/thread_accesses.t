#!/usr/bin/env perl
# What a thread of a rank's team does with the buffer of an operation that another thread starts: nothing orders the two, so it is
# an error whichever comes first in a run. Every operation in every kind of region; right twins touch something else, or come after a
# barrier and the completion. Calls of MPI beside other threads are proof of nothing else: they are PASS with what was not looked at.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

$ENV{CC} = 'gcc';    # whose runtime's regions are followed
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
plan skip_all => "the regions of gcc's runtime alone are followed" if `ldd '$simrun'` =~ /libomp/;
chdir scratch_folder() or die;

# What rank 0 starts and completes; what the others do; what must not be done meanwhile.
my %operations = (
    isend => ['MPI_Isend(b, 1, MPI_INT, 1, 0, W, &r);', 'MPI_Wait(&r, &s);', 'MPI_Recv(b, 1, MPI_INT, 0, 0, W, &s);', 'b[0] = 4;'],
    irecv => ['MPI_Irecv(b, 1, MPI_INT, 1, 0, W, &r);', 'MPI_Wait(&r, &s);', 'MPI_Send(b, 1, MPI_INT, 0, 0, W);', 'c[8] = b[0];'],
    ireduce => ['MPI_Ireduce(c, b, 1, MPI_INT, MPI_SUM, 0, W, &r);', 'MPI_Wait(&r, &s);', 'MPI_Ireduce(c, b, 1, MPI_INT, MPI_SUM, 0, W, &r); MPI_Wait(&r, &s);', 'b[0]++;'],
    get => ['MPI_Get(b, 1, MPI_INT, 1, 0, 1, MPI_INT, win);', 'MPI_Win_unlock(1, win);', '', 'c[8] = b[0];', 'MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);'],
    put => ['MPI_Put(b, 1, MPI_INT, 1, 0, 1, MPI_INT, win);', 'MPI_Win_unlock(1, win);', '', 'b[0] = 3;', 'MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);'],
);
my %regions = (
    for => "#pragma omp parallel for num_threads(2)\nfor (int i = 0; i < 2; i++)\nif (i == 0) { START } else { ACCESS }\n",
    master => "#pragma omp parallel num_threads(3)\n{\n#pragma omp master\n{ START }\nif (omp_get_thread_num() == 2) { ACCESS }\n}\n",
    second_phase => "#pragma omp parallel num_threads(2)\n{\nc[omp_get_thread_num()]++;\n#pragma omp barrier\nif (omp_get_thread_num() == 0) { START } else { ACCESS }\n}\n",
    sections => "#pragma omp parallel sections num_threads(2)\n{\n#pragma omp section\n{ START }\n#pragma omp section\n{ ACCESS }\n}\n",
    single => "#pragma omp parallel num_threads(2)\n{\n#pragma omp single nowait\n{ START }\n#pragma omp single nowait\n{ ACCESS }\n}\n",
    tasks => "#pragma omp parallel num_threads(2)\n#pragma omp single\n{\n#pragma omp task\n{ START }\n#pragma omp task\n{ ACCESS }\n}\n",
);
my $in_order = "#pragma omp parallel num_threads(2)\n{\n#pragma omp master\n{ START COMPLETE }\n#pragma omp barrier\nif (omp_get_thread_num() == 1) { ACCESS }\n}\n";
my $apart = "START\n#pragma omp parallel for num_threads(2)\nfor (int i = 0; i < 2; i++) { ACCESS }\n";

sub program {
    my ($operation, $region, $complete_after) = @_;
    my ($start, $complete, $others, $access, $before) = @{$operations{$operation}};
    $region =~ s/START/$start/;
    $region =~ s/COMPLETE/$complete/;
    $complete = '' if !$complete_after;
    return <<"END" =~ s/ACCESS/\n$access\n/r;
#include <mpi.h>
#include <omp.h>
int b[16], c[16], *w;
int main(int argc, char **argv)
{
    int rank, level;
    MPI_Comm W = MPI_COMM_WORLD;
    MPI_Win win;
    MPI_Request r;
    MPI_Status s;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(W, &rank);
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, W, &w, &win);
    if (rank == 0) {
${\($before // '')}
$region
$complete
    } else {
$others
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
END
}

sub said_of {
    my ($name, $text) = @_;
    open my $out, '>', "$name.c" or die;
    print $out $text;
    close $out;
    my $said = `timeout 200 '$simrun' prove -n 2 --budget 30 --db none ./$name.c 2>&1`;
    return ($said, $? >> 8);
}

for my $operation (sort keys %operations) {
    for my $region (sort keys %regions) {
        my $text = program($operation, $regions{$region}, 1);
        my ($said, $status) = said_of("${operation}_$region", $text);
        my ($line) = grep { (split /\n/, $text)[$_ - 1] eq $operations{$operation}[3] } 1 .. split(/\n/, $text);
        ok($status == 1 && $said =~ /^B001 .*?:$line\b/ms, "$operation, $region: what another thread does with its buffer is B001") or diag($said);
        $text =~ s/b\[0\](?= *(?:=|;|\+\+))/b[1]/;
        ($said, $status) = said_of("${operation}_${region}_other", $text);
        ok($status == 0 && $said =~ /^PASS/m && $said !~ /^[A-Z]\d{3} /m && $said =~ /one order\s+only/,
            "$operation, $region: another element is right, and orders are left") or diag($said);
    }
    my ($said, $status) = said_of("${operation}_in_order", program($operation, $in_order, 0));
    ok($status == 0 && $said =~ /^PASS/m && $said !~ /^[A-Z]\d{3} /m, "$operation: right after its completion and a barrier") or diag($said);
    my $text = program($operation, $apart, 1) =~ s/b\[0\](?= *(?:=|;|\+\+))/c[4 + i]/r;
    ($said, $status) = said_of("${operation}_apart", $text);
    ok($status == 0 && $said =~ /^PROVEN/m, "$operation: a region without calls of MPI leaves nothing open") or diag($said);
}
done_testing();
