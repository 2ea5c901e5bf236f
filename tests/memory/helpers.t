#!/usr/bin/env perl
# Threads that a rank starts and that do not call MPI: what they load and store is looked at as what the rank itself does, in windows and in
# buffers of operations under way.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
$ENV{CC} = 'gcc'; # clang leaves out elements of arrays on the stack, and nothing is proven
chdir scratch_folder() or die;

# How a statement is run: by the rank, by thread $k of an OpenMP team, by a POSIX thread.
my %by = (
    'the rank' => sub { $_[0] },
    'the first of a team' => sub { "_Pragma(\"omp parallel num_threads(2)\") if (omp_get_thread_num() == 0) { $_[0] }" },
    'the last of a team' => sub { "_Pragma(\"omp parallel num_threads(2)\") { alone = omp_get_num_threads() < 2; if (omp_get_thread_num() == 1) { $_[0] } } if (alone) puts(\"alone\");" },
    'a POSIX thread' => sub { "act = $_[1]; pthread_create(&thread, NULL, run, NULL); pthread_join(thread, NULL);" },
);
my $fence = 'MPI_Win_fence(0, win);';
my $put = "if (rank == 0) MPI_Put(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, win);";
my $get = "if (rank == 0) MPI_Get(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, win);";
my ($store, $load, $other) = (['base[0] = 3;', 1], ['seen = base[0];', 2], ['base[1] = 3;', 3]);
# Name; what all do before, rank 1 does in between and all do behind; the code of the finding.
my @cases = (
    ['a store beside a put', "$fence $put", $store, $fence, 'B003'],
    ['a load beside a put', "$fence $put", $load, $fence, 'B003'],
    ['a store beside a get', "$fence $get", $store, $fence, 'B003'],
    ['a load beside a get', "$fence $get", $load, $fence, ''],
    ['a store elsewhere', "$fence $put", $other, $fence, ''],
    ['a store before the fence', '', $store, "$fence $put $fence", ''],
    ['a store behind it', "$fence $put $fence", $store, $fence, ''],
    ['a store into what is received', 'MPI_Request q; if (rank == 1) MPI_Irecv(base, 1, MPI_INT, 0, 0, W, &q);', $store,
        'if (rank == 0) MPI_Send(&one, 1, MPI_INT, 1, 0, W); if (rank == 1) MPI_Wait(&q, MPI_STATUS_IGNORE);', 'B001'],
    ['a store beside it', 'MPI_Request q; if (rank == 1) MPI_Irecv(base, 1, MPI_INT, 0, 0, W, &q);', $other,
        'if (rank == 0) MPI_Send(&one, 1, MPI_INT, 1, 0, W); if (rank == 1) MPI_Wait(&q, MPI_STATUS_IGNORE);', ''],
);
my %levels = (single => 'MPI_Init(&argc, &argv);', funneled => 'int level; MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);',
    multiple => 'int level; MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);');
for my $who (sort keys %by) {
    for my $level ($who =~ /last|POSIX/ ? sort keys %levels : 'single') {
        my $number = 0;
        for my $case (@cases) {
            my ($name, $before, $act, $behind, $code) = @$case;
            my $between = $by{$who}->($act->[0], $act->[1]);
            my $file = 'case' . $number++ . '.c';
            open my $out, '>', $file or die;
            print $out <<"END";
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#define W MPI_COMM_WORLD
static int rank, one = 1, act, alone, *base;
static volatile int seen;
static void *run(void *nothing)
{
    if (act == 1) base[0] = 3;
    if (act == 2) seen = base[0];
    if (act == 3) base[1] = 3;
    return nothing;
}
int main(int argc, char **argv)
{
    MPI_Win win;
    pthread_t thread;
    $levels{$level}
    MPI_Comm_rank(W, &rank);
    MPI_Win_allocate(4 * sizeof *base, sizeof *base, MPI_INFO_NULL, W, &base, &win);
    (void)alone, (void)thread, (void)run, (void)act, (void)seen;
    $before
    if (rank == 1) {
        $between
    }
    $behind
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
END
            close $out;
            my $said = qx{SIMRUN_COLOR=never "$simrun" prove -n 2 --db none $file 2>&1};
            if ($said =~ /^alone$/m) { # where simrun was built with clang, and ranks are OS threads
                pass "$who, $level: $name: a team of one";
                next;
            }
            my %codes = map { $_ => 1 } $said =~ /^([A-Z]\d{3}) /mg;
            my ($word) = $said =~ /^([A-Z]{4,}) /m;
            my $right = $code ? $word eq 'FAIL' && join(' ', keys %codes) eq $code : $word =~ /^(?:PASS|PROVEN)$/;
            ok $right, "$who, $level: $name" or diag $said;
        }
    }
}
done_testing();
