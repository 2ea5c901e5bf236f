#!/usr/bin/perl
# Pictures of what happens behind, between and before loops: iterations that are alike are drawn once, with their number. The program
# counts its own calls by name: with these numbers, a picture has as many for each rank. It stays narrow, and draws all that a finding names.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = $ENV{SIMRUN} // 'build/simrun';
(my $simcc = $simrun) =~ s/simrun$/simcc/;
my $folder = scratch_folder();

# Loops of a random body, each entered at a random call of it, so that iterations begin elsewhere than the loop does.
sub program {
    my ($file) = @_;
    open my $out, '>', $file or die "$file: $!";
    print $out <<'C';
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static int rank, size, counts[5];
static unsigned state;
static int drawn(int n) { state = state * 1103515245 + 12345; return (int)(state >> 16) % n; }
static void call(int kind, int root)
{
    int value = 1, sum = 0;
    counts[kind]++;
    if (kind == 0) MPI_Barrier(MPI_COMM_WORLD);
    if (kind == 1) MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (kind == 2) MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD);
    if (kind == 3) { /* from one to the next */
        counts[3]--;
        if (rank == root) { MPI_Send(&value, 1, MPI_INT, (root + 1) % size, 3, MPI_COMM_WORLD); counts[3]++; }
        if (rank == (root + 1) % size) { MPI_Recv(&value, 1, MPI_INT, root, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE); counts[4]++; }
    }
}
static void loop(long times)
{
    int length = 1 + drawn(6), body[6], root[6], from = drawn(length);
    for (int i = 0; i < length; i++) { body[i] = drawn(4); root[i] = drawn(size); }
    for (int i = from; i < length; i++) call(body[i], root[i]);
    for (long i = 0; i < times; i++)
        for (int k = 0; k < length; k++) call(body[k], root[k]);
}
static void race(void)
{
    int value = rank;
    if (rank == 0) { for (int i = 1; i < 3; i++) MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE); counts[4] += 2; }
    else if (rank < 3) { MPI_Send(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD); counts[3]++; }
}
int main(int argc, char **argv)
{
    long times = atol(argv[2]);
    state = (unsigned)atoi(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int where = drawn(3);
    if (where == 0) race();
    loop(times);
    if (where == 1) race();
    loop(times);
    if (where == 2) race();
    printf("%d Barrier %d Allreduce %d Bcast %d Send %d Recv %d\n", rank, counts[0], counts[1], counts[2], counts[3], counts[4]);
    MPI_Finalize();
    return 0;
}
C
    close $out or die;
}

# What a picture has of each name in the lane of each rank; of several iterations drawn once, all.
sub drawn {
    my ($dot) = @_;
    my %seen;
    for my $lane ($dot =~ /subgraph cluster_rank\d+ \{(.*?)\n  \}/gs) {
        my ($ranks) = $lane =~ /^    r\d+ .*tooltip="ranks ([^"]*)"/m; # of several
        ($ranks) = $lane =~ /<B>rank (\d+)</ unless defined $ranks;
        for my $label ($lane =~ /^    m\d+ \[label=<(.*?)>, shape/mg) {
            my ($name) = $label =~ /^(?:<B>)?(\w+)/;
            $seen{$_}{$name} += $label =~ /\xC3\x97 (\d+)/ ? $1 : 1 for map { /(\d+)-(\d+)/ ? $1 .. $2 : $_ } split /, /, $ranks;
        }
    }
    return \%seen;
}

program("$folder/loops.c");
is system("'$simcc' -g -o '$folder/loops' '$folder/loops.c'"), 0, 'the program compiles';
my @cases = map { my $seed = $_; map { [$seed, (3, 8)[$seed % 2], $_] } 2, 30, 5000 } 1 .. ($ENV{ALL} ? 200 : 5);
push @cases, [2, 64, 300], [5, 16, 5000];
for my $case (@cases) {
    my ($seed, $ranks, $times) = @$case;
    my $name = "seed $seed, $ranks ranks, $times iterations";
    unlink map { "$folder/loops.db$_" } '', '-wal', '-shm';
    my $said = qx{'$simrun' --ranks $ranks --db '$folder/loops.db' '$folder/loops' $seed $times 2>&1};
    my ($number) = $said =~ /--finding (\d+)/ or fail("$name: the race is found") && diag($said);
    my $dot = qx{'$simrun' graph --db '$folder/loops.db' 1 --view forward --finding 1 2>&1};
    my ($width) = $dot =~ /bb="[\d.-]+,[\d.-]+,([\d.]+),/;
    cmp_ok $width // 1e9, '<', $times < 4 ? 8000 : 4000, "$name: the picture is narrow";
    my ($culprit) = $dot =~ /(<B>Recv<.*R003)/;
    ok $culprit, "$name: what the finding names is drawn" or diag $dot;
    next if $dot =~ /operations shown/; # a neighbourhood
    my $seen = drawn($dot);
    my @wrong;
    while ($said =~ /^(?:\[\d+\] )?(\d+) (Barrier .*)$/mg) {
        my ($rank, %counts) = ($1, split / /, $2);
        $_ && ($seen->{$rank}{$_} // 0) != $counts{$_} and push @wrong, "rank $rank $_: $counts{$_} made, " . ($seen->{$rank}{$_} // 0) . ' drawn'
            for keys %counts;
    }
    is "@wrong", '', "$name: as many calls of each name as were made";
}

# A batch that stands: of a message in it that has met its partner nobody has to receive anything.
my $batch = "$folder/batch.dot";
system("'$simrun' --db none --send batch -n 4 --dot '$batch' pipeline:zero-bubble-batched >'$folder/said' 2>&1");
my $text = do { local (@ARGV, $/) = ($batch); <> } // '';
like $text, qr{Send #15</TD><TD[^>]*>the rest of a batch on}, 'a matched send of a batch waits for its rest';
like $text, qr{Isend #7</TD><TD[^>]*>a receive on}, 'the one that holds it waits for a receive';

# Two groups that meet: the leader waits for the other leader, as soon as its own group is there, and an arrow says so.
open my $meeting, '>', "$folder/meeting.c" or die "$folder/meeting.c: $!";
print $meeting <<'C';
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Comm half, both;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    if (rank != 3)
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 7, &both);
    else
        MPI_Recv(&rank, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
C
close $meeting;
system("'$simrun' --db none -n 4 --dot '$folder/meeting.dot' '$folder/meeting.c' >'$folder/said' 2>&1");
$text = do { local (@ARGV, $/) = ("$folder/meeting.dot"); <> } // '';
like $text, qr{Intercomm_create #2</TD><TD[^>]*>the other group.{0,6}s leader, 1<}, "a leader waits for the other group's";
like $text, qr{with 1, tag 7, #0 on comm}, 'its label names it and the tag';
is scalar(() = $text =~ /-> *\S+ *\[color="#D55E00", penwidth=3/g), 3, 'three arrows make the circle';
done_testing;
