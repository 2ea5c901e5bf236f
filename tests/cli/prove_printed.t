#!/usr/bin/perl
# What ranks print is compared between a proof's runs only where the same run prints the same again: a program that prints the time, an
# address or its process is right. One whose print depends on a match is not. Nothing orders the lines of a rank's threads.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use JSON::PP;
use Test::More;

$ENV{CC} = 'gcc'; # clang leaves out elements of arrays on the stack: PASS, not PROVEN
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
chdir scratch_folder() or die;

my $start = <<'C';
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <sys/time.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int r, n, f = 0, k = 0;
    double x = 1, y = 0, t = MPI_Wtime();
    struct timeval v;
    MPI_Status st;
    MPI_Request q;
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    (void)x, (void)y, (void)st, (void)q, (void)f, (void)k, (void)t, (void)v;
C
my $ring = 'MPI_Sendrecv(&x, 1, MPI_DOUBLE, (r + 1) % n, 0, &y, 1, MPI_DOUBLE, (r + n - 1) % n, 0, MPI_COMM_WORLD, &st);';
my $any = 'if (r) MPI_Send(&r, 1, MPI_INT, 0, 0, MPI_COMM_WORLD); else for (int i = 1; i < n; i++) {
    MPI_Recv(&k, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &st); f += k; ORDER }';
(my $sum = $any) =~ s/ORDER//;
(my $order = $any) =~ s/ORDER/printf("from %d\\n", k);/;
# Its threads print in an order that is another in every other process.
my $threads = 'int first = (int)syscall(SYS_getpid) / 2 % 2; /* getpid would be a gap of its own */
#pragma omp parallel num_threads(2)
    for (int turn = 0; turn < 2; turn++) {
        if (turn == (omp_get_thread_num() ^ first))
            printf("thread %d\n", omp_get_thread_num());
#pragma omp barrier
    }
    ';
# Name, body, the word (with a "*": and the coverage says what was not compared), codes of errors.
my @cases = (
    ['the time a loop took', "$ring printf(\"%.9f\\n\", MPI_Wtime() - t);", 'PASS*'],
    ['the longest time of all ranks', "$ring t = MPI_Wtime() - t; MPI_Reduce(&t, &y, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD); if (!r) printf(\"%.9f\\n\", y);", 'PASS*'],
    ['the time of day', "gettimeofday(&v, NULL); $ring printf(\"%ld\\n\", (long)v.tv_usec);", 'PASS*'],
    ['its process', "$ring printf(\"%d\\n\", (int)getpid());", 'PASS*'],
    ['how far a file has grown', "FILE *o = fopen(\"log\", \"a\"); fseek(o, 0, SEEK_END); long s = ftell(o); fprintf(o, \"x\\n\"); fclose(o); $ring printf(\"%ld\\n\", s);", 'PASS*'],
    ['a sum in any order, and the time', "$sum if (!r) printf(\"%d in %.9f\\n\", f, MPI_Wtime() - t);", 'PASS*'],
    ['a loop until some time has passed', "while (MPI_Wtime() - t < 0.01) k++; $ring printf(\"done\\n\");", 'PROVEN'],
    ['what it received', "$ring printf(\"%g\\n\", y);", 'PROVEN'],
    ['a sum in any order', "$sum if (!r) printf(\"%d\\n\", f);", 'PROVEN'],
    ['who came first', $order, 'FAIL', 'R003'],
    ['lines of its threads', "$threads $ring", 'PROVEN'],
    ['lines of its threads, and a sum in any order', "$threads $sum if (!r) printf(\"%d\\n\", f);", 'PROVEN'],
    ['what its threads number', "$threads $ring printf(\"%d\\n\", (int)getpid() + first);", 'PASS*'],
    ['lines of its threads, and who came first', "$threads $order", 'FAIL', 'R003'],
    ['who came first, and the time', "$order if (r == 1) printf(\"%.9f\\n\", MPI_Wtime() - t);", 'FAIL', 'R003'],
);
for my $case (@cases) {
    my ($name, $body, $word, $codes) = @$case;
    (my $file = "$name.c") =~ s/[ ,]+/_/g;
    open my $f, '>', $file or die;
    print $f '#include <omp.h>', "\n" if $name =~ /threads/;
    print $f "$start    $body\n    MPI_Finalize();\n    return 0;\n}\n";
    close $f;
    my ($said) = grep { /^\{"scenario"/ } split /\n/, `timeout 100 '$simrun' prove -n 3 --db none --json ./$file 2>/dev/null`;
    my $verdict = decode_json($said // '{}');
    my $compared = $word =~ s/\*// ? 0 : 1;
    is($verdict->{verdict}, $word, "$name: $word");
    is(join(' ', map { $_->{code} } grep { $_->{severity} eq 'error' } @{$verdict->{findings} // []}), $codes // '', "$name: what is found");
    my $gaps = $said // '';
    ok(($gaps =~ /what ranks print, which is another text/ ? 0 : 1) == $compared, "$name: what was compared") if $word ne 'FAIL';
}
done_testing;
