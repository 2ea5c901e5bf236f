#!/usr/bin/perl
# Races on windows (B003): two accesses to one place, and what may order them; each by name.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = scratch_folder();
my $start = <<'C';
#include <mpi.h>
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    int r, n, x = 1, y = 0, z = 2, *b;
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int to = (r + 1) % n, from = (r + n - 1) % n;
    MPI_Win w;
    MPI_Group g, o, i;
    MPI_Win_allocate(40, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &b, &w);
    MPI_Win_get_group(w, &g);
    MPI_Group_incl(g, 1, &to, &o);
    MPI_Group_incl(g, 1, &from, &i);
    (void)x, (void)y, (void)z;
C
my $end = <<'C';
    MPI_Group_free(&g);
    MPI_Group_free(&o);
    MPI_Group_free(&i);
    MPI_Win_free(&w);
    MPI_Finalize();
    return y == 12345;
}
C
# Words of the cases below; the origin's x or z is put, y is got.
my %words = (
    FENCE => 'MPI_Win_fence(0, w);', BARRIER => 'MPI_Barrier(MPI_COMM_WORLD);',
    EXCLUSIVE => 'MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w);', SHARED => 'MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w);',
    UNLOCK => 'MPI_Win_unlock(0, w);',
);
my $count = 0;
sub race_is {
    my ($name, $code, $body) = @_;
    $body =~ s/\b(FENCE|BARRIER|EXCLUSIVE|SHARED|UNLOCK)\b/$words{$1}/g;
    $body =~ s/PUT\(([^,]*), ([^,]*), (\w)\)/MPI_Put(&$3, 1, MPI_INT, $1, $2, 1, MPI_INT, w);/g;
    $body =~ s/GET\(([^,]*), ([^,)]*)\)/MPI_Get(&y, 1, MPI_INT, $1, $2, 1, MPI_INT, w);/g;
    $body =~ s/ADD\(([^,]*), ([^,]*), (\w+)\)/MPI_Accumulate(&x, 1, MPI_INT, $1, $2, 1, MPI_INT, $3, w);/g;
    my $file = "$folder/c" . $count++ . '.c';
    open my $out, '>', $file or die;
    print $out $start, $body, "\n", $end;
    close $out;
    my $said = `timeout 120 '$simrun' --db none -n 3 --memory $file 2>&1`;
    my %codes = map { $_ => 1 } $said =~ /^([A-Z]\d{3}) /mg;
    is(join(' ', sort keys %codes) || ($said =~ /^PASS/ ? 'OK' : $said), $code, "$name: $code");
}

race_is('put put', 'B003', 'FENCE PUT(0, 1, x) FENCE');
race_is('put apart', 'OK', 'FENCE PUT(0, r, x) FENCE');
race_is('acc acc', 'OK', 'FENCE ADD(0, 1, MPI_SUM) FENCE');
race_is('acc other op', 'B003', 'FENCE if (r == 0)ADD(0, 1, MPI_SUM) else ADD(0, 1, MPI_PROD) FENCE');
race_is('put get', 'B003', 'FENCE if (r == 0)PUT(2, 1, x) if (r == 1)GET(2, 1) FENCE');
race_is('put fence get', 'OK', 'FENCE if (r == 0)PUT(2, 1, x) FENCE if (r == 1)GET(2, 1) FENCE');
race_is('get get', 'OK', 'FENCE GET(0, 1) FENCE');
race_is('put load', 'B003', 'FENCE if (r == 0)PUT(1, 1, x) if (r == 1) y=b[1]; FENCE');
race_is('put fence load', 'OK', 'FENCE if (r == 0)PUT(1, 1, x) FENCE if (r == 1) y=b[1];');
race_is('store get', 'B003', 'FENCE if (r == 0)GET(1, 1) if (r == 1) b[1]=5; FENCE');
race_is('store before fence', 'OK', 'b[1]=3; FENCE if (r == 0)GET(1, 1) FENCE');
race_is('load get', 'OK', 'FENCE if (r == 0)GET(1, 1) if (r == 1) y=b[1]; FENCE');
race_is('excl put put', 'OK', 'EXCLUSIVE PUT(0, 1, x) UNLOCK');
race_is('shared put put', 'B003', 'SHARED PUT(0, 1, x) UNLOCK');
race_is('shared excl', 'OK', 'if (r)EXCLUSIVE else SHARED PUT(0, 1, x) UNLOCK');
race_is('shared shared excl', 'B003', 'if (r == 1)EXCLUSIVE else SHARED PUT(0, 1, x) UNLOCK');
race_is('lock then load no sync', 'B003', 'if (r == 1){EXCLUSIVE PUT(0, 1, x) UNLOCK } if (r == 0) y=b[1];');
race_is('lock barrier load', 'OK', 'if (r == 1){EXCLUSIVE PUT(0, 1, x) UNLOCK } BARRIER if (r == 0) y=b[1];');
race_is('barrier before unlock', 'B003', 'if (r == 1){EXCLUSIVE PUT(0, 1, x) BARRIER UNLOCK } else BARRIER if (r == 0) y=b[1];');
race_is('flush barrier load', 'OK', 'if (r == 1){EXCLUSIVE PUT(0, 1, x) MPI_Win_flush(0, w);BARRIER UNLOCK } else BARRIER if (r == 0) y=b[1];');
race_is('flush_local barrier load', 'B003', 'if (r == 1){EXCLUSIVE PUT(0, 1, x) MPI_Win_flush_local(0, w);BARRIER UNLOCK } else BARRIER if (r == 0) y=b[1];');
race_is('unlock send recv load', 'OK', 'if (r == 1){EXCLUSIVE PUT(0, 1, x) UNLOCK MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);} if (r == 0){MPI_Recv(&z, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); y=b[1];}');
race_is('unlock send other load', 'B003', 'if (r == 1){EXCLUSIVE PUT(0, 1, x) UNLOCK MPI_Send(&x, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);} if (r == 2){MPI_Recv(&z, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);} if (r == 0) y=b[1];');
race_is('pscw', 'OK', 'MPI_Win_post(i, 0, w); MPI_Win_start(o, 0, w);PUT(to, 1, x) MPI_Win_complete(w); MPI_Win_wait(w);y=b[1];');
race_is('pscw load before wait', 'B003', 'MPI_Win_post(i, 0, w); MPI_Win_start(o, 0, w);PUT(to, 1, x) MPI_Win_complete(w); y=b[1]; MPI_Win_wait(w);');
race_is('pscw store before post', 'OK', 'b[1]=4; MPI_Win_post(i, 0, w); MPI_Win_start(o, 0, w);PUT(to, 1, x) MPI_Win_complete(w); MPI_Win_wait(w);');
race_is('same origin twice', 'B003', 'FENCE if (r == 0){PUT(1, 1, x) PUT(1, 1, z) }FENCE');
race_is('same origin put get', 'B003', 'FENCE if (r == 0){PUT(1, 1, x) GET(1, 1) }FENCE');
race_is('same origin flush', 'OK', 'if (r == 1){SHARED PUT(0, 1, x) MPI_Win_flush(0, w);PUT(0, 1, z) UNLOCK }');
race_is('fetch and fetch', 'OK', 'FENCE MPI_Fetch_and_op(&x, &y, MPI_INT, 0, 1, MPI_SUM, w);FENCE');
race_is('fetch and put', 'B003', 'FENCE if (r == 0){PUT(1, 1, x) } else MPI_Fetch_and_op(&x, &y, MPI_INT, 1, 1, MPI_SUM, w);FENCE');
race_is('recv into window', 'B003', 'FENCE if (r == 0){PUT(1, 1, x) MPI_Send(&z, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);} if (r == 1) MPI_Recv(b+1, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); FENCE');
race_is('bcast from root orders', 'OK', 'if (r == 0){MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, w);PUT(1, 1, x) MPI_Win_unlock(1, w);} MPI_Bcast(&z, 1, MPI_INT, 0, MPI_COMM_WORLD); if (r == 1)y=b[1];');
race_is('bcast does not order back', 'B003', 'if (r == 1)y=b[1]; MPI_Bcast(&z, 1, MPI_INT, 0, MPI_COMM_WORLD);if (r == 0){MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, w);PUT(1, 1, x) MPI_Win_unlock(1, w);}');
done_testing;
