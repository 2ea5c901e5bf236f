#!/usr/bin/perl
# A run that does more than the memory for its record holds: its end is kept and judged, so that a bug there is found
# and named, a right twin has no finding, what was not kept is counted exactly, and the verdict says so.
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
chdir $folder or die;

open my $file, '>', 'many.c' or die;
print $file <<'C';
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static char a[4096], b[4096];
static int r, n, sum, nobody;
static MPI_Request across[3]; /* from some round to a later one; their beginning may be all that is kept */

static void some(unsigned s)
{
    int size = (s >> 16) % 1000, tag = (s >> 8) % 30000, d = 1 + (s >> 4) % (n - 1), to = (r + d) % n, from = (r - d + n) % n;
    MPI_Request q[2];
    if ((s >> 13) % 5 == 0) {
        static int begun;
        if (begun++) MPI_Waitall(3, across, MPI_STATUSES_IGNORE);
        MPI_Iallreduce(&n, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, across);
        MPI_Isend(&n, 1, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD, across + 1);
        MPI_Irecv(&nobody, 1, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD, across + 2);
    }
    if (s >> 20 & 1) {
        MPI_Irecv(b, size, MPI_CHAR, from, tag, MPI_COMM_WORLD, q);
        MPI_Isend(a, size, MPI_CHAR, to, tag, MPI_COMM_WORLD, q + 1);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    } else
        MPI_Sendrecv(a, size, MPI_CHAR, to, tag, b, size, MPI_CHAR, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void other(unsigned s, MPI_Comm half, int any)
{
    int size = (s >> 16) % 1000;
    if (s >> 22 & 1) MPI_Allreduce(a, b, size, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    else MPI_Bcast(a, size, MPI_CHAR, 0, half);
    if (s >> 24 & 1) {
        if (r) MPI_Send(a, size, MPI_CHAR, 0, 30500, MPI_COMM_WORLD);
        for (int j = 1; j < n && !r; j++) MPI_Recv(b, 1000, MPI_CHAR, any ? MPI_ANY_SOURCE : j, 30500, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int rounds = atoi(argv[1]), mixed = !!strstr(argv[2], "mixed"), first = r;
    const char *bug = argv[3];
    unsigned s = 12345;
    MPI_Comm half;
    MPI_Request early;
    MPI_Comm_split(MPI_COMM_WORLD, r % 2, r, &half);
    MPI_Irecv(&first, 1, MPI_INT, (r + 1) % n, 31000, MPI_COMM_WORLD, &early); /* waited for at the end */
    for (int i = 0; i < rounds; i++) {
        s = s * 1103515245u + 12345u;
        some(s);
        if (mixed && (s >> 12) % 8 == 0) other(s, half, 0);
        if (mixed && i % 5000 == 4999)
            for (int j = 0; j < 500; j++) {
                MPI_Sendrecv(a, 8, MPI_CHAR, (r + 1) % n, 3, b, 8, MPI_CHAR, (r - 1 + n) % n, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Barrier(half);
            }
    }
    MPI_Send(&r, 1, MPI_INT, (r + n - 1) % n, 31000, MPI_COMM_WORLD);
    MPI_Wait(&early, MPI_STATUS_IGNORE);
    MPI_Waitall(3, across, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(bug, "type") && r == 0) MPI_Send(a, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
    if (!strcmp(bug, "type") && r == 1) MPI_Recv(a, 1, MPI_FLOAT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(bug, "lost") && r == 1) MPI_Send(a, 1, MPI_INT, 2, 5, MPI_COMM_WORLD);
    if (!strcmp(bug, "root")) MPI_Bcast(a, 1, MPI_CHAR, r == 1, MPI_COMM_WORLD);
    if (!strcmp(bug, "hang") && r) MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(bug, "leak") && r == 1) MPI_Isend(a, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_SELF, &early);
    if (!strcmp(bug, "kill") && r == 0) raise(SIGKILL);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
C
close $file;

sub run {
    my ($limit, @words) = @_;
    my $json = `'$simrun' -n 4 --db none --no-gradients --json --record-limit $limit many.c @words 2>/dev/null`;
    my $result = eval { decode_json($json) } or diag("'$json'");
    return $result;
}

sub codes { join ' ', sort map { $_->{code} } @{ $_[0]{findings} } }

sub gap {
    my ($result, $beginning) = @_;
    my $count = 0;
    $count += $_->{count} for grep { $_->{text} =~ /^\Q$beginning/ } @{ $result->{coverage} };
    return $count;
}

my %codes = (none => '', type => 'M008', lost => 'D003', root => 'M002', hang => 'D001', leak => 'L001', kill => 'X007');
for my $kind ('random', 'mixed') {
    for my $bug ('none', 'type', 'lost', 'root', 'hang', 'leak', 'kill') {
        my $all = run('2G', 12000, $kind, $bug);
        my $some = run('16M', 12000, $kind, $bug);
        is($some->{verdict}, $all->{verdict}, "$kind, $bug: the verdict is that of the whole record");
        is(codes($all), $codes{$bug}, "which has what the program does wrong");
        is(codes($some), codes($all), "and so has this one");
        is(gap($all, 'operations before those judged'), 0, "of which nothing was dropped");
        my $dropped = gap($some, 'operations before those judged');
        cmp_ok($dropped, '>', 50000, "though most was not kept");
        is($some->{operations} + $dropped, $all->{operations}, "every operation was kept or counted") if $kind eq 'random';
    }
}

like(`'$simrun' --record-limit 1M ring 2>&1`, qr/size\s+from\s+16M/, 'a limit that holds nothing is refused');
done_testing;
