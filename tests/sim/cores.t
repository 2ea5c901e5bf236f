#!/usr/bin/perl
# Ranks on all cores with one answer: scenarios and a farm of wildcards give the same trace, gradients
# and findings on one core, on two and on all, and the findings that fibers give. FULL=1: every scenario.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = tempdir(CLEANUP => 1);
$ENV{SIMRUN_CACHE} ||= "$folder/cache";

# What a run says, without what depends on time: per number of ranks [trace hash, gradients], [verdict, codes].
sub answer {
    my ($options, $words) = @_;
    my (@exact, @verdict);
    for (`timeout 300 '$simrun' --json --db none $options $words 2>/dev/null`) {
        my ($hash) = /"trace_hash":"(\w+)"/ or next;
        my ($gradients) = /"gradients":(\[.*?\]),"findings"/;
        push @exact, "$hash " . ($gradients // '');
        my ($said) = /"verdict":"(\w+)"/;
        push @verdict, join ' ', $said, sort /"code":"([A-Z]\d{3})"/g;
    }
    return join("\n", @exact), join("\n", @verdict);
}

sub same_everywhere {
    my ($words, $like_fibers) = @_;
    my ($exact, $verdict) = answer('--cores 1', $words);
    isnt($exact, '', "$words: runs");
    # A program that touches a buffer under way, never waits, or writes beyond its memory says something else each time.
    my $races = $verdict =~ /B001|B006|L001/;
    $exact =~ s/ .*//mg if $races;
    for my $cores ('2', 'all') {
        my ($other) = answer("--cores $cores", $words);
        $other =~ s/ .*//mg if $races;
        ok($other eq $exact, "$words: --cores $cores gives the same trace and gradients");
    }
    my (undef, $fibers) = answer('', $words);
    is($verdict, $fibers, "$words: the findings of fibers") if $like_fibers && !$races;
}

my $farm = "$folder/farm.c";
open my $file, '>', $farm or die;
print $file <<'C';
#include <mpi.h>
#include <stdio.h>
/* Wildcards, polls and uneven work: under OS threads as they come, every run is another. */
static double work(int n)
{
    double sum = 0;
    for (int i = 1; i < n * 500; i++)
        sum += 1.0 / i;
    return sum;
}
static unsigned farm(int ranks)
{
    unsigned order = 0;
    for (int open = ranks - 1, next = 0; open;) {
        MPI_Status from;
        double result;
        for (int there = 0; !there;)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &from);
        MPI_Recv(&result, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &from);
        order = order * 31 + (unsigned)from.MPI_SOURCE;
        int job = next < 40 ? next++ : -1;
        MPI_Send(&job, 1, MPI_INT, from.MPI_SOURCE, 0, MPI_COMM_WORLD);
        open -= job < 0;
    }
    return order;
}
int main(int argc, char **argv)
{
    int rank, ranks, job = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    unsigned order = rank ? 0 : farm(ranks);
    for (double result = 0; rank && job >= 0;) {
        MPI_Send(&result, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
        MPI_Recv(&job, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        result = job < 0 ? 0 : work((rank * 37 + job * 11) % 50);
    }
    MPI_Bcast(&order, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
C
close $file;
same_everywhere("-n $_ $farm", 0) for 2, 5, 17;

my ($name, @scenarios);
for (`'$simrun' list`) {
    if (/^(\S+)/) { push @scenarios, $name = $1 }
    elsif (/^  (:\S+)/) { push @scenarios, "$name$1" }
}
cmp_ok(scalar @scenarios, '>', 100, 'the scenarios are found');
my $step = $ENV{FULL} ? 1 : 48;
# What of these happens depends on the order of the ranks, which is another one here.
my $order_decides = qr/^(dist-engine:crossing|server-async)/;
same_everywhere($scenarios[$_ * $step], $scenarios[$_ * $step] !~ $order_decides) for 0 .. $#scenarios / $step;

# A long computation on one core says so.
open $file, '>', "$folder/long.c" or die;
print $file <<'C';
#include <mpi.h>
#include <stdio.h>
int main(void)
{
    MPI_Init(0, 0);
    double from = MPI_Wtime();
    while (MPI_Wtime() - from < 0.6)
        for (volatile int i = 0; i < 1000000; i++)
            ;
    MPI_Finalize();
    return 0;
}
C
close $file;
SKIP: {
    skip 'one core', 2 if `nproc` < 2;
    like(scalar `'$simrun' --db none -n 2 $folder/long.c`, qr/faster: .*--cores all/, 'computing ranks: --cores is named');
    unlike(scalar `'$simrun' --db none -n 2 --cores all $folder/long.c`, qr/faster:/, 'not where it is used');
}

my $refused = `'$simrun' --cores none ring 2>&1`;
like($refused, qr/--cores.*none.*a number from 1 on, or all/s, 'a wrong number of cores is refused');
done_testing;
