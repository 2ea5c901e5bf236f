#!/usr/bin/perl
# Windows: each rule of MPI's chapter on one-sided communication, kept and broken, under --memory.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

# clang leaves out elements of arrays on the stack (memory.t).
$ENV{CC} = 'gcc';
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = scratch_folder();
my $start = <<'C';
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static int bad;
#define WANT(x) (bad |= !(x))
static void handled(MPI_Win *w, int *code, ...) { MPI_Error_class(*code, code); bad |= *code != MPI_ERR_RMA_SYNC; (void)w; }
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    int r, n, x = 1, y = 0, two[2] = {7, 8}, *b;
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int to = (r + 1) % n, from = (r + n - 1) % n;
    MPI_Win w;
    MPI_Group g, o, i;
    MPI_Request q = MPI_REQUEST_NULL;
    MPI_Win_allocate(40, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &b, &w);
    MPI_Win_get_group(w, &g);
    MPI_Group_incl(g, 1, &to, &o);
    MPI_Group_incl(g, 1, &from, &i);
    for (int k = 0; k < 10; k++) b[k] = 10 * r + k;
    MPI_Barrier(MPI_COMM_WORLD);
    (void)handled, (void)two, (void)q, (void)x, (void)y;
C
my $end = <<'C';
    MPI_Group_free(&g);
    MPI_Group_free(&o);
    MPI_Group_free(&i);
    MPI_Win_free(&w);
    MPI_Finalize();
    return bad;
}
C
my $count = 0;
sub case_is {
    my ($name, $code, $ranks, $body, @options) = @_;
    my $file = "$folder/c" . $count++ . '.c';
    open my $out, '>', $file or die;
    $body =~ s/\bPUT\b/MPI_Put(&x, 1, MPI_INT, to, 1, 1, MPI_INT, w)/g;
    $body =~ s/\bGET\b/MPI_Get(&y, 1, MPI_INT, to, 2, 1, MPI_INT, w)/g;
    print $out $start, $body, "\n", $end;
    close $out;
    my $said = `timeout 120 '$simrun' --db none -n $ranks @options --memory $file 2>&1`;
    my %codes = map { $_ => 1 } $said =~ /^([A-Z]\d{3}) /mg;
    my $found = join(' ', sort keys %codes) || ($said =~ /^PASS/ ? 'OK' : $said);
    is($found, $code, "$name: $code");
}

my $all = '1,2,3,5,16';
case_is('fence', 'OK', $all, 'MPI_Win_fence(0, w); PUT; GET; MPI_Win_fence(0, w); WANT(b[1] == 1 && y == 10 * to + 2);');
case_is('start and post', 'OK', $all, 'MPI_Win_post(i, 0, w); MPI_Win_start(o, 0, w); PUT; GET; MPI_Win_complete(w); MPI_Win_wait(w); WANT(b[1] == 1 && y == 10 * to + 2);');
case_is('tested exposure', 'OK', '2,3', 'int f = 0; MPI_Win_post(i, 0, w); MPI_Win_start(o, 0, w); PUT; MPI_Win_complete(w); while (!f) MPI_Win_test(w, &f); WANT(b[1] == 1);');
case_is('locks', 'OK', $all, 'MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, w); PUT; GET; MPI_Win_unlock(to, w); MPI_Barrier(MPI_COMM_WORLD); WANT(b[1] == 1 && y == 10 * to + 2);');
case_is('the same on threads', 'OK', '4', 'MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, w); PUT; GET; MPI_Win_unlock(to, w); MPI_Barrier(MPI_COMM_WORLD); WANT(b[1] == 1 && y == 10 * to + 2);', '--os-threads');
case_is('exclusive counting', 'OK', $all, 'for (int k = 0; k < 3; k++) { MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w); MPI_Get(&y, 1, MPI_INT, 0, 0, 1, MPI_INT, w); MPI_Win_flush(0, w); y++; MPI_Put(&y, 1, MPI_INT, 0, 0, 1, MPI_INT, w); MPI_Win_unlock(0, w); } MPI_Barrier(MPI_COMM_WORLD); WANT(r || b[0] == 3 * n);');
case_is('all locks, requests', 'OK', $all, 'MPI_Win_lock_all(0, w); MPI_Rput(&x, 1, MPI_INT, to, 1, 1, MPI_INT, w, &q); MPI_Wait(&q, MPI_STATUS_IGNORE); MPI_Rget(&y, 1, MPI_INT, to, 2, 1, MPI_INT, w, &q); MPI_Wait(&q, MPI_STATUS_IGNORE); MPI_Win_unlock_all(w); MPI_Barrier(MPI_COMM_WORLD); WANT(b[1] == 1 && y == 10 * to + 2);');
case_is('accumulate, fetch, swap', 'OK', $all, 'int z = -1, k = 0; MPI_Win_fence(0, w); MPI_Accumulate(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, w); MPI_Fetch_and_op(&x, &z, MPI_INT, 0, 3, MPI_SUM, w); MPI_Get_accumulate(&x, 1, MPI_INT, &y, 1, MPI_INT, to, 4, 1, MPI_INT, MPI_REPLACE, w); MPI_Compare_and_swap(&x, &k, &bad, MPI_INT, r, 9, w); MPI_Win_fence(0, w); bad = 0; WANT(z >= 3 && z < 3 + n && y == 10 * to + 4 && b[4] == 1 && (r || (b[0] == n && b[3] == 3 + n)));');
case_is('derived types', 'OK', '1,2,3', 'MPI_Datatype t; MPI_Type_vector(2, 1, 3, MPI_INT, &t); MPI_Type_commit(&t); MPI_Win_fence(0, w); MPI_Put(two, 2, MPI_INT, to, 0, 1, t, w); MPI_Win_fence(0, w); MPI_Accumulate(two, 2, MPI_INT, to, 0, 1, t, MPI_SUM, w); MPI_Win_fence(0, w); MPI_Type_free(&t); WANT(b[0] == 14 && b[3] == 16 && b[1] == 10 * r + 1);');
case_is('dynamic', 'OK', '1,2,3', 'MPI_Win d; int m = 5; MPI_Aint a, t; MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &d); MPI_Win_attach(d, &m, 4); MPI_Get_address(&m, &a); MPI_Sendrecv(&a, 1, MPI_AINT, from, 0, &t, 1, MPI_AINT, to, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); MPI_Win_fence(0, d); MPI_Put(&x, 1, MPI_INT, to, t, 1, MPI_INT, d); MPI_Win_fence(0, d); WANT(m == 1); MPI_Win_detach(d, &m); MPI_Win_free(&d);');
case_is('shared', 'OK', '1,2,3', 'MPI_Win s; int *m, *t, u; MPI_Aint z; MPI_Win_allocate_shared(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &m, &s); MPI_Win_shared_query(s, to, &z, &u, &t); *m = r; MPI_Win_fence(0, s); WANT(*t == to && z == 4 && u == 4); MPI_Win_fence(0, s); MPI_Win_free(&s);');
case_is('attributes, names, info', 'OK', '2', 'int f, *p, l; void *a; char s[MPI_MAX_OBJECT_NAME]; MPI_Info h; MPI_Win_get_attr(w, MPI_WIN_BASE, &a, &f); WANT(f && a == b); MPI_Win_get_attr(w, MPI_WIN_CREATE_FLAVOR, &p, &f); WANT(f && *p == MPI_WIN_FLAVOR_ALLOCATE); MPI_Win_set_name(w, "mine"); MPI_Win_get_name(w, s, &l); WANT(l == 4); MPI_Win_get_info(w, &h); MPI_Info_free(&h);');
case_is('errors come back', 'M009', '2', 'MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN); WANT(MPI_Put(&x, 1, MPI_INT, n, 0, 1, MPI_INT, w) == MPI_ERR_RANK); WANT(MPI_Win_lock(3, 0, 0, w) == MPI_ERR_LOCKTYPE); WANT(MPI_Win_fence(1, w) == MPI_ERR_ASSERT);');
case_is('a handler is called', 'B005', '1', 'MPI_Errhandler e; MPI_Win_create_errhandler((MPI_Win_errhandler_function *)handled, &e); MPI_Win_set_errhandler(w, e); MPI_Errhandler_free(&e); WANT(MPI_Win_unlock(0, w) == MPI_ERR_RMA_SYNC);');
case_is('lock behind an unused fence', 'OK', '2', 'MPI_Win_fence(0, w); MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w); GET; MPI_Win_unlock(to, w);');
case_is('no epoch', 'B004', '2', 'PUT;');
case_is('after the last fence', 'B004', '2', 'MPI_Win_fence(0, w); MPI_Win_fence(MPI_MODE_NOSUCCEED, w); PUT;');
case_is('another target than locked', 'B004', '2', 'MPI_Win_lock(MPI_LOCK_SHARED, r, 0, w); PUT; MPI_Win_unlock(r, w);');
case_is('another target than started', 'B004', '3', 'MPI_Win_post(i, 0, w); MPI_Win_start(o, 0, w); MPI_Put(&x, 1, MPI_INT, from, 1, 1, MPI_INT, w); MPI_Win_complete(w); MPI_Win_wait(w);');
case_is('flush without lock', 'B004', '2', 'MPI_Win_flush(to, w);');
case_is('request in a fence epoch', 'B004', '2', 'MPI_Win_fence(0, w); MPI_Rput(&x, 1, MPI_INT, to, 1, 1, MPI_INT, w, &q); MPI_Wait(&q, MPI_STATUS_IGNORE); MPI_Win_fence(0, w);');
case_is('no closing fence', 'B005', '2', 'MPI_Win_fence(0, w); PUT;');
case_is('locked twice', 'B005', '2', 'MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w); MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w);');
case_is('lock within lock_all', 'B005', '2', 'MPI_Win_lock_all(0, w); MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w);');
case_is('lock in a fence epoch', 'B005', '2', 'MPI_Win_fence(0, w); PUT; MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w); MPI_Win_unlock(to, w);');
case_is('unlock without lock', 'B005', '2', 'MPI_Win_unlock(to, w);');
case_is('unlock_all of single locks', 'B005', '2', 'MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w); MPI_Win_unlock_all(w);');
case_is('fence under a lock', 'B005', '2', 'MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w); MPI_Win_fence(0, w);');
case_is('complete without start', 'B005', '2', 'MPI_Win_complete(w);');
case_is('wait without post', 'B005', '2', 'MPI_Win_wait(w);');
case_is('posted twice', 'B005', '2', 'MPI_Win_post(i, 0, w); MPI_Win_post(i, 0, w);');
case_is('started twice', 'B005', '2', 'MPI_Win_post(i, 0, w); MPI_Win_start(o, 0, w); MPI_Win_start(o, 0, w);');
case_is('freed under a lock', 'B005', '2', 'MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w);');
case_is('start without post', 'D001', '2', 'MPI_Win_start(o, 0, w); PUT; MPI_Win_complete(w);');
case_is('beyond the window', 'B006', '2', 'MPI_Win_fence(0, w); MPI_Put(&x, 1, MPI_INT, to, 10, 1, MPI_INT, w); MPI_Win_fence(0, w);');
case_is('another type there', 'M008', '2', 'MPI_Win_fence(0, w); MPI_Put(&x, 1, MPI_INT, to, 1, 1, MPI_FLOAT, w); MPI_Win_fence(0, w);');
case_is('origin written before the fence', 'B001', '2', 'MPI_Win_fence(0, w); PUT; x = 5; MPI_Win_fence(0, w);');
case_is('origin read before the fence', 'B001', '2', 'MPI_Win_fence(0, w); GET; printf("%d\n", y); MPI_Win_fence(0, w);');
case_is('origin read after the flush', 'OK', '2', 'MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w); GET; MPI_Win_flush(to, w); WANT(y == 10 * to + 2); MPI_Win_unlock(to, w);');
case_is('a true assertion about the epoch behind', 'OK', '2,3,5', 'MPI_Win_fence(MPI_MODE_NOPRECEDE, w); if (!r) PUT; MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOSUCCEED, w);');
case_is('a false one about the epoch ahead', 'B005', '3', 'MPI_Win_fence(MPI_MODE_NOPUT, w); if (!r) PUT; MPI_Win_fence(0, w);');
case_is('a false one of a post', 'B005', '2', 'MPI_Win_post(i, MPI_MODE_NOPUT, w); MPI_Win_start(o, 0, w); PUT; MPI_Win_complete(w); MPI_Win_wait(w);');
case_is('nothing precedes but a put', 'B005', '2', 'MPI_Win_fence(0, w); PUT; MPI_Win_fence(MPI_MODE_NOPRECEDE, w); MPI_Win_fence(0, w);');
case_is('neighbours attached piece by piece', 'OK', '2', 'MPI_Win d; int m[2]; MPI_Aint a, t; MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &d); MPI_Win_attach(d, m, 4); MPI_Win_attach(d, m + 1, 4); MPI_Get_address(m, &a); MPI_Sendrecv(&a, 1, MPI_AINT, from, 0, &t, 1, MPI_AINT, to, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); MPI_Win_fence(0, d); MPI_Put(two, 2, MPI_INT, to, t, 2, MPI_INT, d); MPI_Win_fence(0, d); WANT(m[1] == 8); MPI_Win_free(&d);');
case_is('load of attached memory in the epoch', 'B003', '2', 'MPI_Win d; int m[2]; MPI_Aint a, t; MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &d); MPI_Win_attach(d, m, 8); MPI_Get_address(m, &a); MPI_Sendrecv(&a, 1, MPI_AINT, from, 0, &t, 1, MPI_AINT, to, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); MPI_Win_fence(0, d); MPI_Put(two, 2, MPI_INT, to, t, 2, MPI_INT, d); y = *(volatile int *)(m + 1); MPI_Win_fence(0, d); MPI_Win_free(&d);');
case_is('an array as long as the window', 'OK', '2', 'int m[4]; MPI_Win d; MPI_Win_create(m, sizeof m, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &d); MPI_Win_free(&d);');
case_is('a window beyond its array', 'B006', '2', 'int m[4]; MPI_Win d; MPI_Win_create(m, 64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &d); MPI_Win_free(&d);');
case_is('a window beyond a static array', 'B006', '2', 'static int m[4]; MPI_Win d; MPI_Win_create(m, 20, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &d); MPI_Win_free(&d);');
case_is('attached beyond what was allocated', 'B006', '2', 'int *m = malloc(16); MPI_Win d; MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &d); MPI_Win_attach(d, m, 20); MPI_Win_detach(d, m); MPI_Win_free(&d); free(m);');
case_is('attached as allocated', 'OK', '2', 'int *m = malloc(16); MPI_Win d; MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &d); MPI_Win_attach(d, m, 16); MPI_Win_detach(d, m); MPI_Win_free(&d); free(m);');
case_is('memory freed before its window', 'B001', '2', 'int *m = malloc(16); MPI_Win d; MPI_Win_create(m, 16, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &d); free(m); MPI_Win_free(&d);');
case_is('memory freed behind its window', 'OK', '2', 'int *m = malloc(16); MPI_Win d; MPI_Win_create(m, 16, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &d); MPI_Win_free(&d); free(m);');
case_is('memory around a window freed first', 'B001', '2', 'int *m = malloc(32); MPI_Win d; MPI_Win_create(m + 4, 16, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &d); free(m); MPI_Win_free(&d);');
case_is('memory freed while it is attached', 'B001', '2', 'int *m = malloc(16); MPI_Win d; MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &d); MPI_Win_attach(d, m, 16); free(m); MPI_Win_detach(d, m); MPI_Win_free(&d);');
case_is('memory freed beside a window', 'OK', '2', 'int *m = malloc(16), *e = malloc(16); MPI_Win d; MPI_Win_create(m, 16, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &d); free(e); MPI_Win_free(&d); free(m);');
case_is('nothing to compare with', 'M009', '2', 'MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w); MPI_Compare_and_swap(&x, NULL, &y, MPI_INT, to, 1, w); MPI_Win_unlock(to, w);');

# A call that is no operation of the recorder's is told at its own line.
open my $lone, '>', "$folder/lone.c" or die;
print $lone $start, "int flag;\nMPI_Win_test(w, &flag); /* here */\n", $end;
close $lone;
my $at = 1 + (() = ($start . "int flag;\n") =~ /\n/g);
like(scalar `timeout 60 '$simrun' --db none -n 2 $folder/lone.c 2>&1`, qr/B005.*lone\.c:$at\b/s, 'a test without a post, at its line');
done_testing;
