#!/usr/bin/perl
# Requests of messages to and from nobody (MPI_PROC_NULL) are completed as all others are: who leaves one behind is told so (L001).
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = $ENV{SIMRUN} // 'build/simrun';
my $folder = scratch_folder();
open my $out, '>', "$folder/nobody.c" or die "$folder/nobody.c: $!";
print $out <<'C';
#include <mpi.h>
#include <string.h>
#include <stdlib.h>
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    int x = 0, y = 0, f = 0, i, n, at[2];
    const char *start = v[1], *end = v[2];
    MPI_Request q = MPI_REQUEST_NULL, both[2];
    MPI_Message m;
    MPI_Status s;
    if (!strcmp(start, "irecv")) MPI_Irecv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &q);
    if (!strcmp(start, "isend")) MPI_Isend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &q);
    if (!strcmp(start, "issend")) MPI_Issend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &q);
    if (!strcmp(start, "irsend")) MPI_Irsend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &q);
    if (!strcmp(start, "ibsend")) MPI_Ibsend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &q);
    if (!strcmp(start, "isendrecv")) MPI_Isendrecv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, &y, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &q);
    if (!strcmp(start, "replace")) MPI_Isendrecv_replace(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &q);
    if (!strcmp(start, "imrecv")) { MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &m, &s); MPI_Imrecv(&x, 1, MPI_INT, &m, &q); }
    if (!strcmp(start, "persistent")) { MPI_Recv_init(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &q); MPI_Start(&q); }
    both[0] = q; both[1] = MPI_REQUEST_NULL;
    if (!strcmp(end, "wait")) MPI_Wait(&q, &s);
    if (!strcmp(end, "test")) MPI_Test(&q, &f, &s);
    if (!strcmp(end, "waitall")) MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    if (!strcmp(end, "testall")) MPI_Testall(2, both, &f, MPI_STATUSES_IGNORE);
    if (!strcmp(end, "waitany")) MPI_Waitany(2, both, &i, &s);
    if (!strcmp(end, "testany")) MPI_Testany(2, both, &i, &f, &s);
    if (!strcmp(end, "waitsome")) MPI_Waitsome(2, both, &n, at, MPI_STATUSES_IGNORE);
    if (!strcmp(end, "testsome")) MPI_Testsome(2, both, &n, at, MPI_STATUSES_IGNORE);
    if (!strcmp(end, "free")) MPI_Request_free(&q);
    if (!strcmp(start, "persistent") && strcmp(end, "free") && strcmp(end, "none")) MPI_Request_free(&both[0]);
    MPI_Finalize();
    return 0;
}
C
close $out or die;
my @ends = qw(none free wait test waitall testall waitany testany waitsome testsome);
for my $start (qw(irecv isend issend irsend ibsend isendrecv replace imrecv persistent)) {
    my @seen;
    for my $end (@ends) {
        my $said = qx{'$simrun' --db none -n 2 '$folder/nobody.c' $start $end 2>&1};
        my ($verdict, @codes) = ($said =~ /^(PASS|FAIL)/, $said =~ /^([A-Z]\d{3}) /mg);
        push @seen, join ' ', $end, $verdict // $said, @codes;
    }
    my @expected = map { "$_ PASS" . (/none|free/ ? ' L001' : '') } @ends;
    is "@seen", "@expected", "$start: left behind, freed or completed";
}
done_testing;
