#!/usr/bin/perl
# Loops are recorded once: what is found is what is found with every iteration (--record events), what differs in one
# of many iterations is found and says after how many, and the record of a long loop is short.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use JSON::PP;
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = scratch_folder();
chdir $folder;

open my $file, '>', 'loop.c' or die;
print $file <<'C';
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, size;
    double x = 1, y = 0;
    const char *bug = argv[1];
    int rounds = atoi(argv[2]), at = atoi(argv[3]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int bad = rank == 1;
    for (int i = 0; i < rounds; i++) {
        MPI_Request both[2];
        int here = i == at;
        if (!strcmp(bug, "blocking")) {
            if (rank % 2 || (here && bad)) MPI_Recv(&y, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&x, 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD);
            if (rank % 2 == 0 && !(here && bad)) MPI_Recv(&y, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (!strcmp(bug, "ahead")) { /* two messages to one */
            if (rank % 2 == 0) MPI_Send(&x, 1, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
            else if (i % 2) for (int k = 0; k < 2; k++)
                MPI_Recv(&y, 1, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (!strcmp(bug, "cyclic")) {
            MPI_Send(&x, 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD);
            MPI_Recv(&y, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (!strcmp(bug, "any")) {
            MPI_Isend(&x, 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &both[0]);
            MPI_Recv(&y, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Wait(&both[0], MPI_STATUS_IGNORE);
        } else if (!strcmp(bug, "overlap")) { /* elsewhere each time, and once in one place */
            static double pool[64];
            MPI_Request four[4];
            double *one = pool + i * 7 % 30, *two = here && bad ? one : pool + 31 + i * 11 % 30;
            MPI_Irecv(one, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &four[0]);
            MPI_Irecv(two, 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &four[1]);
            MPI_Isend(&x, 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &four[2]);
            MPI_Isend(&x, 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &four[3]);
            MPI_Waitall(4, four, MPI_STATUSES_IGNORE);
        } else {
            MPI_Irecv(&y, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &both[0]);
            MPI_Isend(&x, 1, here && bad && !strcmp(bug, "type") ? MPI_FLOAT : MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &both[1]);
            if (here && bad && !strcmp(bug, "write")) x = 2;
            if (here && bad && !strcmp(bug, "lost")) MPI_Send(&x, 1, MPI_DOUBLE, right, 9, MPI_COMM_WORLD);
            if (here && bad && !strcmp(bug, "leak")) { MPI_Request lost; MPI_Irecv(&y + 0, 0, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &lost); MPI_Comm c; MPI_Comm_dup(MPI_COMM_SELF, &c); }
            MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
            if (!(here && bad && !strcmp(bug, "skip"))) MPI_Barrier(MPI_COMM_WORLD);
            double sum;
            MPI_Reduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, here && bad && !strcmp(bug, "root"), MPI_COMM_WORLD);
            if (here && bad && !strcmp(bug, "exit")) exit(3);
        }
    }
    MPI_Finalize();
}
C
close $file;

sub run {
    my ($options, $arguments) = @_;
    my $out = `'$simrun' $options --json -n 4 loop.c $arguments 2>said`;
    my ($line) = grep { /^\{/ } split /\n/, $out;
    my $result = $line ? decode_json($line) : {};
    my @found = sort map { "$_->{code} " . join ',', map { "$_->{rank} $_->{operation}" } @{$_->{places} || $_->{operations} || []} }
        @{$result->{findings} || []};
    return ($? >> 8, join("\n", @found), $result);
}

for my $bug (qw(none type write lost leak skip root exit blocking cyclic ahead any overlap)) {
    for my $at (350, -1) {
        next if $at < 0 && $bug =~ /^(type|write|lost|leak|skip|root|exit)$/;
        my ($code, $found) = run('--db none', "$bug 700 $at");
        my ($all_code, $all) = run('--db none --record events', "$bug 700 $at");
        is("$code\n$found", "$all_code\n$all", "$bug at $at: folded or not, the same is found");
    }
}

my (undef, $overlap) = run('--db none', 'overlap 700 350');
like($overlap, qr/^B002 /m, 'two receives that met in one place in one iteration are found');
my (undef, undef, $moving) = run('--db m.db', 'overlap 70000 -1');
my ($rows) = `'$simrun' query --db m.db "select count(*) from v_ops"` =~ /(\d+)\s*\z/;
cmp_ok($rows, '<', 2000, 'iterations whose buffers lie elsewhere each time are recorded once');
my $text = `'$simrun' --db a.db -n 4 loop.c type 200000 150000 2>said`;
is($? >> 8, 1, 'a bug in one of 200,000 iterations is found');
like($text, qr/after\s+150000\s+like\s+iterations/, 'and says after how many');
my ($ops, $loops, $all) = split /\|/, `'$simrun' query --db a.db "select count(*)||'|'||(select count(*) from v_loops)||'|'||((select sum(body*times) from v_loops)+count(*)) from v_ops" | tail -n +2`;
cmp_ok($ops, '<', 2000, 'of 4,000,000 operations few rows are stored');
cmp_ok($loops, '>=', 4, 'and what they stand for');
ok(-s 'a.db' < 2_000_000, 'in a small file');

like(`'$simrun' export --db a.db 1 2>&1 >/dev/null`, qr/^simrun: \d+ operations of loop iterations .*--record events/,
     'an export says what is not in it');

like(`'$simrun' --db none -n 4 loop.c any 5000 -1 2>said`, qr/not\s+covered:.*wildcard\s+receives\s+in\s+iterations\s+of\s+loops/s,
     'wildcards of iterations that were left out are coverage');
# What is a loop must not depend on where the system puts the program and its heap: many loops, many buffers.
open $file, '>', 'many.c' or die;
print $file <<'C';
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size;
    char *buffers[400];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int k = 0; k < 400; k++)
        buffers[k] = calloc(1, 64 + (k * 7919) % 4096);
    for (int loop = 0; loop < 60; loop++)
        for (int i = 0; i < 14; i++)
            for (int k = loop; k < 2 * loop + 30; k++)
                if ((rank + k) % 2)
                    MPI_Send(buffers[k], 8, MPI_BYTE, rank ^ 1, k, MPI_COMM_WORLD);
                else
                    MPI_Recv(buffers[k], 8, MPI_BYTE, rank ^ 1, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int k = 0; k < 400; k++)
        free(buffers[k]);
    MPI_Finalize();
}
C
close $file;
my %hashes;
for (1 .. 6) {
    unlink 'h.db';
    system("'$simrun' run --no-gradients --db h.db -n 2 many.c >said 2>&1");
    $hashes{`'$simrun' query --db h.db 'select trace_hash from runs' | tail -n 1`}++;
}
is(scalar keys %hashes, 1, 'equal runs are recorded as equal, wherever their memory lies') or diag(explain(\%hashes));

# A rank takes what any of the others sends and then reduces: it may run far behind them. The loader keeps where the
# ranks of a loop stand, the checker looks for receives that the messages of later rounds could reach (the root of a
# Reduce waits for nobody's next round, the others do not wait for it): both in time that grows as the rounds do.
open $file, '>', 'behind.c' or die;
print $file <<'C';
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size, x = 0, y = 0, rounds = atoi(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < rounds; i++) {
        if (rank == 0)
            for (int k = 1; k < size; k++)
                MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(&i, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Reduce(&x, &y, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
}
C
close $file;
my %used;
for my $rounds (10, 8000, 32000) { # the first one compiles
    my $before = (times)[2];
    my $said = `'$simrun' run --no-gradients --db none -n 8 behind.c $rounds 2>&1`;
    $used{$rounds} = (times)[2] - $before;
    like($said, qr/^FAIL .*^D003 .*^\s+cause /ms, "$rounds rounds: a message of a later round is taken in an earlier one");
}
note(explain(\%used));
cmp_ok($used{32000}, '<', 10 * $used{8000}, 'four times the rounds take far less than sixteen times as long')
    or diag(explain(\%used));
done_testing;
