#!/usr/bin/perl
# Which threads may call MPI, by the level of threads that a program asked for (MPI-4.1, 11.6.2), where ranks are threads of the system: below
# MPI_THREAD_SERIALIZED the main one alone, which is the one that initialized MPI.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} // 'build/simrun');
chdir scratch_folder() or die;
open my $file, '>', 'levels.c' or die;
print $file <<'C';
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static int level;
static void sum(void)
{
    int sum = 1;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
static void *work(void *none) { sum(); return none; }
static void *all(void *none)
{
    int given;
    MPI_Init_thread(NULL, NULL, level, &given);
    sum();
    MPI_Finalize();
    return none;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    int given;
    level = atoi(argv[1]);
    if (argc > 2 && !strcmp(argv[2], "begin")) {
        pthread_create(&thread, NULL, all, NULL);
        pthread_join(thread, NULL);
        return 0;
    }
    if (level < 0)
        MPI_Init(&argc, &argv);
    else
        MPI_Init_thread(&argc, &argv, level, &given);
    if (!strcmp(argv[2], "main"))
        sum();
    if (!strcmp(argv[2], "thread")) {
        pthread_create(&thread, NULL, work, NULL);
        pthread_join(thread, NULL);
    }
    if (!strcmp(argv[2], "master") || !strcmp(argv[2], "member")) {
        int caller = !strcmp(argv[2], "member");
#pragma omp parallel num_threads(2)
        if (omp_get_thread_num() == caller)
            sum();
    }
    MPI_Finalize();
    return 0;
}
C
close $file;
my %levels = (none => -1, single => 0, funneled => 1024, serialized => 2048, multiple => 4096); # those of mpi.h
my @callers = qw(main thread master begin);
push @callers, 'member' unless ($ENV{BUILD} // '') =~ /clang/; # simrun has LLVM's OpenMP runtime then, the program gcc's
for my $level (sort keys %levels) {
    for my $who (@callers) {
        my $said = `'$simrun' --db none --os-threads -n 2 levels.c $levels{$level} $who 2>&1`;
        my $wrong = $who =~ /^(thread|member)$/ && $level =~ /^(none|single|funneled)$/;
        my $codes = join ' ', sort keys %{{map { $_ => 1 } $said =~ /^([A-Z]\d{3}) /mg}};
        is($codes, $wrong ? 'M009' : '', "$level: $who calls") or diag($said);
    }
}

# Programs that give up where they are not given the level that they ask for: fibers have MPI_THREAD_FUNNELED, which the verdict tells
# whoever may have ended for it.
open $file, '>', 'demands.c' or die;
print $file <<'C';
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    int given;
    MPI_Init_thread(&argc, &argv, atoi(argv[1]), &given);
    if (!strcmp(argv[2], "abort") && given < MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (!strcmp(argv[2], "exit") && given < MPI_THREAD_MULTIPLE)
        return 3;
    MPI_Finalize();
    return 0;
}
C
close $file;
for my $level ('funneled', 'serialized', 'multiple') {
    for my $how ('abort', 'exit', 'bear') {
        for my $threads ('', '--os-threads') {
            my $said = `'$simrun' --db none $threads -n 2 demands.c $levels{$level} $how 2>&1`;
            my $ends = $how ne 'bear' && ($level ne 'multiple' || !$threads);
            my $told = $ends && !$threads && $level ne 'funneled';
            my $less = !$ends && !$threads && $level ne 'funneled';
            is(join(' ', $said =~ /^(FAIL|PASS)/m, $said =~ /^  (threads) .*fibers/m, join(' ', split ' ', $said) =~ /not covered: what the program does where it is given the (threads of MPI) that it asked for/),
                ($ends ? 'FAIL' : 'PASS') . ($told ? ' threads' : '') . ($less ? ' threads of MPI' : ''), "asks for $level, or $how, $threads") or diag($said);
        }
    }
}

# What is proven is what the program does with the threads that it asks for: here it hangs then.
open $file, '>', 'chooses.c' or die;
print $file <<'C';
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    int given, x, wanted = atoi(argv[1]);
    MPI_Init_thread(&argc, &argv, wanted, &given);
    if (given == MPI_THREAD_MULTIPLE && !strcmp(argv[2], "hangs"))
        MPI_Recv(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
C
close $file;
$ENV{CC} = 'gcc'; # PROVEN needs its plugin
for my $case ([funneled => 'hangs', 'PROVEN'], [multiple => 'hangs', 'FAIL D001'], [multiple => 'ends', 'PROVEN'], [serialized => 'ends', 'PROVEN']) {
    my ($level, $how, $expected) = @$case;
    my $said = `'$simrun' prove --db none -n 2 chooses.c $levels{$level} $how 2>/dev/null`;
    is(join(' ', $said =~ /^(FAIL|PASS|PROVEN)/m, $said =~ /^([A-Z]\d{3}) /m), $expected, "proven: asks for $level, $how") or diag($said);
}

# A thread that may not call MPI, and ends the process as that fails: the cause is the call, not the end.
open $file, '>', 'ends.c' or die;
print $file <<'C';
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
static const char *how;
static void *work(void *ignored)
{
    int rank = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank); /* here */
    if (rank < 0 && *how == 'e')
        exit(4);
    if (rank < 0 && *how == 'q')
        _Exit(0);
    if (rank < 0 && *how == 'a')
        MPI_Abort(MPI_COMM_WORLD, 5);
    return ignored;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    how = argv[1];
    MPI_Init(&argc, &argv);
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
C
close $file;
for my $how ('exit', 'quick', 'abort', 'goes on') {
    my $said = `'$simrun' --db none -n 2 ends.c '$how' 2>/dev/null`;
    is(join(' ', $said =~ /^(FAIL|PASS)/m, $said =~ /^([A-Z]\d{3}) /mg, join(' ', split ' ', $said) =~ /fibers at ends\.c:(\d+)/),
        $how eq 'quick' ? 'FAIL M009 X008 8' : 'FAIL M009 8', "a thread that may not call MPI: $how") or diag($said);
}
done_testing;
