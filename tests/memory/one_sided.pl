#!/usr/bin/perl
# one_sided.pl [PATTERN]: programs with windows, wrong ones and their right twins, each judged by
# `simrun prove -n 2`: conflicting accesses under every synchronisation, local buffers, epochs, assertions, arguments,
# leaks, and what orders ranks. Prints those whose codes differ, and how many there are; exit 1 where one does.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = tempdir(CLEANUP => 1);
my $pattern = shift // '.';
my ($count, $wrong) = (0, 0);

# name, codes or OK, what main does, functions before it
sub prog {
    my ($name, $expected, $body, $functions) = @_;
    return unless $name =~ /$pattern/;
    $functions //= '';
    open my $file, '>', "$folder/$name.c" or die;
    print $file <<"C";
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
$functions
int main(int argc, char **argv)
{
    int rank, size;
    MPI_Win win = MPI_WIN_NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int *base = NULL, x = 10, y = 0, buf[16] = {0};
    (void)x, (void)y, (void)buf, (void)base;
$body
    MPI_Finalize();
    return 0;
}
C
    close $file;
    my $said = `timeout 120 '$simrun' prove -n 2..2 $folder/$name.c 2>&1`;
    my %codes = map { $_ => 1 } $said =~ /^([A-Z]\d{3}) /mg;
    my $found = join(' ', sort keys %codes) || ($said =~ /^(PASS|PROVEN)/m ? 'OK' : $said);
    $count++;
    return if $found eq $expected;
    $wrong++;
    print "$name: expected $expected, found $found\n$body\n";
}

my $A = "MPI_Win_allocate(16 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);\n";
my $F = "MPI_Win_free(&win);\n";
my $C = "base = malloc(16 * sizeof(int)); memset(base, 0, 64);\nMPI_Win_create(base, 16 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);\n";
my $CF = "MPI_Win_free(&win);\nfree(base);\n";
my $B="MPI_Barrier(MPI_COMM_WORLD);\n";
sub put { "MPI_Put(&$_[0], 1, MPI_INT, $_[1], $_[2], 1, MPI_INT, win);\n" }
sub get { "MPI_Get(&$_[0], 1, MPI_INT, $_[1], $_[2], 1, MPI_INT, win);\n" }
my $f="MPI_Win_fence(0, win);\n"; my $la="MPI_Win_lock_all(0, win);\n"; my $ua="MPI_Win_unlock_all(win);\n";
# --- RMARaceBench style: conflict, fence / lock_all / lock / pscw
my %acc=(put=>put('x',1,0),get=>get('y',1,0),acc=>"MPI_Accumulate(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win);\n",
 load=>'printf("%d\n", base[0]);'."\n",store=>"base[0] = 42;\n", rput=>"{ MPI_Request q; MPI_Rput(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &q); MPI_Wait(&q, MPI_STATUS_IGNORE); }\n",
 rget=>"{ MPI_Request q; MPI_Rget(&y, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &q); MPI_Wait(&q, MPI_STATUS_IGNORE); }\n",
 fop=>"MPI_Fetch_and_op(&x, &y, MPI_INT, 1, 0, MPI_SUM, win);\n", cas=>"MPI_Compare_and_swap(&x, &buf[3], &y, MPI_INT, 1, 0, win);\n", gacc=>"MPI_Get_accumulate(&x, 1, MPI_INT, &y, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win);\n");
my %w=map{$_=>1}qw(put acc store rput fop cas gacc); my %at=map{$_=>1}qw(acc fop cas gacc); my %loc=(load=>1,store=>1);
for my $a (sort keys %acc){ for my $b (sort keys %acc){ next if $a gt $b && !($loc{$a}||$loc{$b}); next if $loc{$a}; # a by rank 0 remote
  my $race = ($w{$a}||$w{$b}) && !($at{$a}&&$at{$b});
  my $who = $loc{$b}?1:1;
  my $e=$race?'B003':'OK';
  prog("conflict_fence_${a}_$b",$e,"$A base[0]=1;\n$f if (rank == 0) {\n$acc{$a}}\n if (rank == 1) {\n$acc{$b}}\n$f$F") if $a!~/^r/ && $b!~/^r/;
  prog("conflict_lockall_${a}_$b",$e,"$A base[0]=1; $B$la if (rank == 0) {\n$acc{$a}}\n if (rank == 1) {\n$acc{$b}}\n$ua$B$F");
  prog("conflict_lockallok_${a}_$b",'OK',"$A base[0]=1; $B$la if (rank == 0) {\n$acc{$a} MPI_Win_flush(1, win);\n}\n$B if (rank == 1) {\n$acc{$b}}\n$ua$B$F");
}}
# local buffer
for my $s (['fence',$f,$f],['lock',"MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);\n","MPI_Win_unlock(1, win);\n"],['lockall',$la,$ua],['flush',$la."","MPI_Win_flush(1, win);\n",$ua],['flushlocal',$la,"MPI_Win_flush_local(1, win);\n",$ua]) {
 my ($n,$o,$c,$l)=@$s; $l//='';
 my ($co,$cc,$cl)=($o,$c,$l);
 my $guard = $n eq 'fence' ? 0 : 1;
 for my $k (['getload',get('y',1,0),'printf("%d\n", y);'],['getstore',get('y',1,0),'y = 3;'],['putstore',put('x',1,0),'x = 3;'],$guard && $n !~ /flush/ ? () : ['getgetorigin',get('y',1,0),get('y',1,1)]) {
  my $code = $k->[0] eq 'getgetorigin' ? 'B002' : 'B001';
  if($guard){ prog("local_${n}_$k->[0]",$code,"$A$B if (rank == 0) {\n$o$k->[1]$k->[2]\n$c$l}\n$B$F");
    prog("local_${n}_$k->[0]ok",'OK',"$A$B if (rank == 0) {\n$o$k->[1]$c$k->[2]\n$l}\n$B$F"); }
  else { prog("local_${n}_$k->[0]",$code,"$A$f if (rank == 0) {\n$k->[1]$k->[2]\n}\n$f$F");
    prog("local_${n}_$k->[0]ok",'OK',"$A$f if (rank == 0) {\n$k->[1]}\n$f if (rank == 0) { $k->[2] }\n$f$F");}
 }}
prog('local_putload','OK',"$A$f if (rank == 0) {".put('x',1,0).'printf("%d\n", x);}'."$f$F");
prog('local_rput_nowait','B001',"$A$B$la if (rank == 0) { MPI_Request q; MPI_Rput(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &q); x = 2; MPI_Wait(&q, MPI_STATUS_IGNORE); }$ua$B$F");
prog('local_rget_nowait','B001',"$A$B$la if (rank == 0) { MPI_Request q; MPI_Rget(&y, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &q); printf(\"%d\\n\", y); MPI_Wait(&q, MPI_STATUS_IGNORE); }$ua$B$F");
prog('local_rget_testloop','OK',"$A$B$la if (rank == 0) { MPI_Request q; int d = 0; MPI_Rget(&y, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &q); while (!d) MPI_Test(&q, &d, MPI_STATUS_IGNORE); printf(\"%d\\n\", y); }$ua$B$F");
prog('local_rput_ok','OK',"$A$B$la if (rank == 0) { MPI_Request q; MPI_Rput(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &q); MPI_Wait(&q, MPI_STATUS_IGNORE); x = 2; }$ua$B$F");
prog('request_leak','L001',"$A$B$la if (rank == 0) { MPI_Request q; MPI_Rput(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &q); }$ua$B$F");
prog('request_waitall','OK',"$A$B$la if (rank == 0) { MPI_Request q[4]; for (int i = 0; i < 4; i++) MPI_Rput(&x, 1, MPI_INT, 1, i, 1, MPI_INT, win, &q[i]); MPI_Waitall(4, q, MPI_STATUSES_IGNORE); x = 5; }$ua$B$F");
prog('request_rput_only_local','B003',"$A$B$la if (rank == 0) { MPI_Request q; MPI_Rput(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &q); MPI_Wait(&q, MPI_STATUS_IGNORE); }$B if (rank == 1) printf(\"%d\\n\", base[0]);$ua$F");
prog('request_raccumulate_fence','B004',"$A$f if (rank == 0) { MPI_Request q; MPI_Raccumulate(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win, &q); MPI_Wait(&q, MPI_STATUS_IGNORE); }$f$F");
# epochs
prog('epoch_none_put','B004',"$A if (rank == 0) ".put('x',1,0).$F);
prog('epoch_none_get','B004',"$A$B if (rank == 0) ".get('y',1,0)."$B$F");
prog('epoch_after_unlock','B004',"$A if (rank == 0) { MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win); MPI_Win_unlock(1, win);".put('x',1,0)."}$F");
prog('epoch_before_lock','B004',"$A if (rank == 0) {".put('x',1,0)." MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win); MPI_Win_unlock(1, win);}$F");
prog('epoch_noclose_lockall','B005',"$A$la if (rank == 0) ".put('x',1,0).$F);
prog('epoch_noclose_lock','B005',"$A if (rank == 0) { MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);".put('x',1,0)."}$F");
prog('epoch_noclose_fence','B005',"$A$f if (rank == 0) ".put('x',1,0).$F);
prog('epoch_noopen_unlockall','B005',"$A$ua$F");
prog('epoch_double_lockall','B005',"$A$la$la$ua$F");
prog('epoch_double_unlockall','B005',"$A$la$ua$ua$F");
prog('epoch_double_lock','B005',"$A if (rank == 0) { MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win); MPI_Win_unlock(1, win); MPI_Win_unlock(1,win);}$F");
prog('epoch_lock_two_targets','OK',"$A if (rank == 0) { MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win); MPI_Win_unlock(1, win); MPI_Win_unlock(0,win);}$F");
prog('epoch_lock_in_fence','B005',"$A$f if (rank == 0) {".put('x',1,0)." MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win); MPI_Win_unlock(1, win);}$f$F");
prog('epoch_fence_in_lockall','B005',"$A$la$f$ua$F");
prog('epoch_fence_missing_one','M001',"$A$f if (rank == 0) {".put('x',1,0)."}\n if (rank != 1) { $f }\n$F");
prog('epoch_start_nopost','D001',"MPI_Group all, to; int one = 1; $A MPI_Comm_group(MPI_COMM_WORLD, &all); MPI_Group_incl(all, 1, &one, &to); if (rank == 0) { MPI_Win_start(to, 0, win);".put('x',1,0)." MPI_Win_complete(win); } $B MPI_Group_free(&all); MPI_Group_free(&to); $F");
prog('epoch_post_nostart','D001',"MPI_Group all, from; int zero = 0; $A MPI_Comm_group(MPI_COMM_WORLD, &all); MPI_Group_incl(all, 1, &zero, &from); if (rank == 1) { MPI_Win_post(from, 0, win); MPI_Win_wait(win); } $B MPI_Group_free(&all); MPI_Group_free(&from); $F");
prog('epoch_pscw_ok','OK',"MPI_Group all, from, to; int zero = 0, one = 1; $A MPI_Comm_group(MPI_COMM_WORLD, &all); MPI_Group_incl(all, 1, &zero, &from); MPI_Group_incl(all, 1, &one, &to); if (rank == 1) { MPI_Win_post(from, 0, win); MPI_Win_wait(win); printf(\"%d\\n\", base[0]); } if (rank == 0) { MPI_Win_start(to, 0, win);".put('x',1,0)." MPI_Win_complete(win); x = 3; } $B MPI_Group_free(&all); MPI_Group_free(&from); MPI_Group_free(&to); $F");
prog('epoch_pscw_nocomplete','B005',"MPI_Group all, to; int one = 1, zero = 0; MPI_Group from; $A MPI_Comm_group(MPI_COMM_WORLD, &all); MPI_Group_incl(all, 1, &one, &to);MPI_Group_incl(all, 1, &zero, &from); if (rank == 1) { MPI_Win_post(from, 0, win); } if (rank == 0) { MPI_Win_start(to, 0, win);".put('x',1,0)." }  MPI_Group_free(&all); MPI_Group_free(&from);MPI_Group_free(&to); $F");
prog('epoch_flush_nolock','B004',"$A MPI_Win_flush(0, win); $F");
prog('epoch_flushall_fence','B004',"$A$f MPI_Win_flush_all(win);$f$F");
prog('epoch_unlock_wrong','B005',"$A if (rank == 0) { MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win); MPI_Win_unlock(0, win); }$F");
prog('epoch_put_wrong_target','B004',"$A if (rank == 0) { MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);".put('x',1,0)." MPI_Win_unlock(0, win); }$F");
prog('lock_deadlock','D001',"$A$B if (rank == 0) { MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win); MPI_Recv(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); MPI_Win_unlock(0, win); } if (rank == 1) { MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win); MPI_Win_unlock(0, win); MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD); }$B$F");
# asserts
prog('assert_noprecede_wrong','B005',"$A$f if (rank == 0) {".put('x',1,0)."} MPI_Win_fence(MPI_MODE_NOPRECEDE, win); $f$F");
prog('assert_noput_wrong','B005',"$A MPI_Win_fence(MPI_MODE_NOPUT, win); if (rank == 0) {".put('x',1,0)."}$f$F");
prog('assert_nostore_wrong','B005',"$A$f base[2] = 4; MPI_Win_fence(MPI_MODE_NOSTORE, win);$F");
prog('assert_nosucceed_wrong','B004',"$A MPI_Win_fence(MPI_MODE_NOSUCCEED, win); if (rank == 0) {".put('x',1,0)."}$f$F");
prog('assert_ok','OK',"$A MPI_Win_fence(MPI_MODE_NOPRECEDE, win); if (rank == 0) {".put('x',1,0)."} MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOSUCCEED, win);$F");
# arguments
my @args=(['rank','M009',"MPI_Put(&x, 1, MPI_INT, size, 0, 1, MPI_INT, win);"],['negrank','M009',"MPI_Put(&x, 1, MPI_INT, -5, 0, 1, MPI_INT, win);"],['count','M009',"MPI_Put(&x, -1, MPI_INT, 0, 0, 1, MPI_INT, win);"],
['disp','M009',"MPI_Put(&x, 1, MPI_INT, 0, -2, 1, MPI_INT, win);"],['range','B006',"MPI_Put(&x, 1, MPI_INT, 0, 16, 1, MPI_INT, win);"],['rangecount','B006',"MPI_Get(buf, 16, MPI_INT, 0, 1, 16, MPI_INT, win);"],['nulltype','M009',"MPI_Put(&x, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, win);"],
['types','M008',"MPI_Put(&x, 1, MPI_INT, 0, 0, 1, MPI_FLOAT, win);"],['counts','M007',"MPI_Put(buf, 2, MPI_INT, 0, 0, 1, MPI_INT, win);"],['op','M009',"MPI_Accumulate(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, win);"],
['bufnull','M009',"MPI_Put(NULL, 1, MPI_INT, 0, 0, 1, MPI_INT, win);"],['getnull','M009',"MPI_Get(NULL, 1, MPI_INT, 0, 0, 1, MPI_INT, win);"],['uncommitted','M009',"MPI_Datatype t; MPI_Type_contiguous(1, MPI_INT, &t); MPI_Put(&x, 1, t, 0, 0, 1, MPI_INT, win); MPI_Type_free(&t);"]);
for (@args){ prog("arg_$_->[0]",$_->[1],"$A$f$_->[2]\n$f$F"); }
prog('arg_userop','M009',"MPI_Op op; $A MPI_Op_create((MPI_User_function *)user, 1, &op);$f MPI_Accumulate(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, op, win);$f MPI_Op_free(&op);$F",'static void user(void *a, void *b, int *n, MPI_Datatype *t) { (void)a, (void)b, (void)n, (void)t; }');
prog('arg_locktype','M009',"$A MPI_Win_lock(99, 0, 0, win);$F");
prog('arg_lockrank','M009',"$A MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win);$F");
prog('arg_winnull','M009',"MPI_Win_fence(0, win);");
prog('arg_size','M009',"MPI_Win_create(buf, -4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);$F");
prog('arg_unit','M009',"MPI_Win_create(buf, 4, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win);$F");
prog('arg_commnull','M009',"MPI_Win_create(buf, 4, 4, MPI_INFO_NULL, MPI_COMM_NULL, &win);");
prog('arg_freed','M009',"$A MPI_Win copy = win; $F MPI_Win_fence(0, copy);");
prog('arg_doublefree','M009',"$A MPI_Win copy = win; $F MPI_Win_free(&copy);");
prog('arg_createnull','M009',"MPI_Win_create(NULL, 4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);$F");
prog('arg_winsize','B006',"base = malloc(16); MPI_Win_create(base, 64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);$CF");
prog('arg_detached','M009',"int one; MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win); MPI_Win_detach(win, &one);$F");
prog('arg_unattached','B006',"MPI_Aint a; MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win); MPI_Get_address(buf, &a);$f MPI_Put(&x, 1, MPI_INT, rank, a, 1, MPI_INT, win);$f$F");
# leaks
prog('leak_win','L007',"$A");
prog('leak_win_create','L007',"$C");
prog('leak_one','D001',"$A if (rank == 0) { $F }");
prog('free_origin_before','B001',"$A int *p = malloc(4); *p = 3;$f if (rank == 0) MPI_Put(p, 1, MPI_INT, 1, 0, 1, MPI_INT, win); free(p);$f$F");
prog('free_memory_early','B001 B003',"$C$f if (rank == 0) ".put('x',1,0)." if (rank == 1) free(base);$f MPI_Win_free(&win); if (rank != 1) free(base);");
# sync
prog('sync_msg_only','B003',"$A$B if (rank == 0) { MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);".put('x',1,0)."MPI_Send(&y, 1, MPI_INT, 1, 0, MPI_COMM_WORLD); MPI_Win_unlock(1, win);} if (rank == 1) { MPI_Recv(&y, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); printf(\"%d\\n\", base[0]); }$B$F");
prog('sync_msg_ok','OK',"$A$B if (rank == 0) { MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);".put('x',1,0)." MPI_Win_unlock(1, win);MPI_Send(&y, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);} if (rank == 1) { MPI_Recv(&y, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); printf(\"%d\\n\", base[0]); }$B$F");
prog('sync_polling_ok','OK',"$A base[0] = 0; $B$la if (rank == 0) { MPI_Accumulate(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_REPLACE, win); MPI_Win_flush(1, win); } if (rank == 1) { do { MPI_Fetch_and_op(&x, &y, MPI_INT, 1, 0, MPI_NO_OP, win); MPI_Win_flush(1, win); } while (y != 10); }$ua$F");
prog('sync_polling_data','OK',"$A base[0] = base[1] = 0; $B$la if (rank == 0) {".put('x',1,1)."MPI_Win_flush(1, win); MPI_Accumulate(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_REPLACE, win); MPI_Win_flush(1, win); } if (rank == 1) { do { MPI_Fetch_and_op(&x, &y, MPI_INT, 1, 0, MPI_NO_OP, win); MPI_Win_flush(1, win); } while (y != 10); MPI_Win_sync(win); printf(\"%d\\n\", base[1]); }$ua$F");
prog('sync_polling_noflush','B003',"$A base[0] = base[1] = 0; $B$la if (rank == 0) {".put('x',1,1)." MPI_Accumulate(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_REPLACE, win); MPI_Win_flush(1, win); } if (rank == 1) { do { MPI_Fetch_and_op(&x, &y, MPI_INT, 1, 0, MPI_NO_OP, win); MPI_Win_flush(1, win); } while (y != 10); MPI_Win_sync(win); printf(\"%d\\n\", base[1]); }$ua$F");
prog('sync_loadpoll_ok','OK',"$A volatile int *b = base; b[0] = 0; $B$la if (rank == 0) { MPI_Put(&x, 1, MPI_INT, 1, 1, 1, MPI_INT, win); MPI_Win_flush(1, win); MPI_Send(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD); } if (rank == 1) { int f = 0; while (!f) MPI_Iprobe(0, 0, MPI_COMM_WORLD, &f, MPI_STATUS_IGNORE); MPI_Recv(&y, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); printf(\"%d\\n\", b[1]); }$ua$F");
prog('sync_shared_ok','OK',"MPI_Aint s; int u, *peer; MPI_Win_allocate_shared(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win); MPI_Win_shared_query(win, (rank + 1) % size, &s, &u, &peer);$la *base = rank; MPI_Win_sync(win);$B MPI_Win_sync(win); printf(\"%d\\n\", *peer);$ua$F");
prog('sync_shared_race','B003',"MPI_Aint s; int u, *peer; MPI_Win_allocate_shared(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win); MPI_Win_shared_query(win, (rank + 1) % size, &s, &u, &peer);$la *base = rank; MPI_Win_sync(win); printf(\"%d\\n\", *peer);$ua$F");
prog('sync_shared_put_store','B003',"MPI_Win_allocate_shared(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);$f if (rank == 0) ".put('x',1,0)." if (rank == 1) *base = 3;$f$F");
prog('sync_scan','B003 R003',"$A base[0] = 0;$B if (rank == 1) { MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win); MPI_Put(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, win); MPI_Win_unlock(0, win); } MPI_Scan(&x, &buf[2], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); if (rank == 0) printf(\"%d\\n\", base[0]);$B$F");
prog('sync_scan_ok','OK',"$A base[0] = 0;$B if (rank == 0) { MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win); ".put('x',1,0)." MPI_Win_unlock(1, win); } MPI_Scan(&x, &buf[2], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); if (rank == 1) printf(\"%d\\n\", base[0]);$B$F");
prog('sync_reduce_nonroot','B003',"$A base[0] = 0;$B if (rank == 0) { MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win); ".put('x',1,0)." MPI_Win_unlock(1, win); } MPI_Reduce(&x, &buf[2], 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); if (rank == 1) printf(\"%d\\n\", base[0]);$B$F");
prog('sync_allreduce_ok','OK',"$A base[0] = 0;$B if (rank == 0) { MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win); ".put('x',1,0)." MPI_Win_unlock(1, win); } MPI_Allreduce(&x, &buf[2], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); if (rank == 1) printf(\"%d\\n\", base[0]);$B$F");
prog('sync_init_nobarrier','B003',"$A base[0] = rank; $la if (rank == 0) {".get('y',1,0)."}$ua$F");
prog('sync_init_barrier','OK',"$A base[0] = rank; $B$la if (rank == 0) {".get('y',1,0)."}$ua$F");
prog('sync_wrong_comm','B003',"MPI_Comm half; MPI_Comm_split(MPI_COMM_WORLD, rank == 1, 0, &half); $A base[0]=0;$B$la if (rank == 0) {".put('x',1,0)."MPI_Win_flush(1, win);} MPI_Barrier(half); if (rank == 1) printf(\"%d\\n\", base[0]);$ua MPI_Comm_free(&half);$F");
# nested functions, aliasing, struct
prog('misc_alias','B001',"$A int *alias = &x;$f if (rank == 0) {".put('x',1,0)."*alias = 4;}$f$F");
prog('misc_func','B001',"$A$f if (rank == 0) {".put('x',1,0)."change(&x);}$f$F",'__attribute__((noinline)) static void change(int *p) { *p = 5; }');
prog('misc_memcpy','B001',"$A int z[4] = {1,2,3,4};$f if (rank == 0) { MPI_Put(buf, 4, MPI_INT, 1, 0, 4, MPI_INT, win); memcpy(buf, z, 16);}$f$F");
prog('misc_send_window','B003',"$A base[0] = 0;$f if (rank == 0) ".put('x',1,0)." if (rank == 1) MPI_Send(base, 1, MPI_INT, 0, 0, MPI_COMM_WORLD); if (rank == 0) MPI_Recv(&y, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); $f$F");
prog('misc_bcast_window','B003',"$A base[0] = 0;$f if (rank == 0) ".put('x',1,0)." MPI_Bcast(base, 1, MPI_INT, 1, MPI_COMM_WORLD); $f$F");
prog('misc_origin_in_window','B003',"$A base[0] = 0;$f if (rank == 0) ".put('x',1,0)." if (rank == 1) MPI_Put(base, 1, MPI_INT, 0, 3, 1, MPI_INT, win); $f$F");
prog('misc_twowins','B003',"MPI_Win other; base = malloc(64); memset(base, 0, 64); MPI_Win_create(base, 64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win); MPI_Win_create(base, 64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &other);$f MPI_Win_fence(0, other); if (rank == 0) {".put('x',1,0)." MPI_Put(&y, 1, MPI_INT, 1, 0, 1, MPI_INT, other);}$f MPI_Win_fence(0, other); MPI_Win_free(&other);$CF");
prog('misc_origin_wait_send','B002',"$A$f MPI_Request q; if (rank == 0) {".get('y',1,0)." MPI_Isend(&y, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &q); MPI_Wait(&q, MPI_STATUS_IGNORE); } if (rank == 1) MPI_Recv(&y, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);$f$F");
prog('misc_isend_put','B003',"$A base[0] = 1;$B MPI_Request q; if (rank == 1) MPI_Isend(base, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &q); if (rank == 0) { MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);".put('x',1,0)."MPI_Win_unlock(1, win); MPI_Recv(&y, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); } if (rank == 1) MPI_Wait(&q, MPI_STATUS_IGNORE);$B$F");
prog('atomic_op_mix','B003',"$A$f if (rank == 0) MPI_Accumulate(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win); if (rank == 1) MPI_Accumulate(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_MAX, win);$f$F");
prog('atomic_type_mix','B003',"$A float g = 1; $f if (rank == 0) MPI_Accumulate(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win); if (rank == 1) MPI_Accumulate(&g, 1, MPI_FLOAT, 1, 0, 1, MPI_FLOAT, MPI_SUM, win);$f$F");
prog('atomic_same','OK',"$A$f MPI_Accumulate(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);$f$F");
prog('atomic_counter','OK',"$A base[0]=0;$B$la for (int i = 0; i < 3; i++) { MPI_Fetch_and_op(&x, &y, MPI_INT, 0, 0, MPI_SUM, win); MPI_Win_flush(0, win); buf[i] = y; }$ua$F");

# What accumulates of one origin, info, MPI_MODE_NOCHECK and the end of the program say
my $twice = "$f if (rank == 0) { MPI_Accumulate(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win); MPI_Accumulate(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_REPLACE, win); }$f$F";
sub informed { my ($key, $value) = @_; return "MPI_Info info; MPI_Info_create(&info); MPI_Info_set(info, \"$key\", \"$value\"); MPI_Win_allocate(64, 4, info, MPI_COMM_WORLD, &base, &win); MPI_Info_free(&info);\n" }
prog('accumulates_in_order', 'OK', "$A$twice");
prog('accumulates_in_order_by_info', 'OK', informed('accumulate_ordering', 'rar,raw,war,waw') . $twice);
prog('accumulates_without_order', 'B003', informed('accumulate_ordering', 'none') . $twice);
prog('accumulates_two_types', 'B003', "$A float g = 1;$f if (rank == 0) { MPI_Accumulate(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win); MPI_Accumulate(&g, 1, MPI_FLOAT, 1, 0, 1, MPI_FLOAT, MPI_SUM, win); }$f$F");
prog('info_no_locks', 'B005', informed('no_locks', 'true') . "MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win); MPI_Win_unlock(0, win);$F");
prog('accumulates_set_info', 'B003', "MPI_Info info; $A MPI_Info_create(&info); MPI_Info_set(info, \"accumulate_ordering\", \"rar,waw\"); MPI_Win_set_info(win, info); MPI_Info_free(&info);$twice");
prog('accumulates_info_default', 'OK', "MPI_Info info; char value[64]; int found; $A MPI_Win_get_info(win, &info); MPI_Info_get(info, \"accumulate_ordering\", 63, value, &found); if (!found || strcmp(value, \"rar,raw,war,waw\")) MPI_Abort(MPI_COMM_WORLD, 1); MPI_Info_free(&info);$F");
prog('info_locks', 'OK', informed('no_locks', 'false') . "MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win); MPI_Win_unlock(0, win);$F");
sub unchecked_start {    # assertions of post and start; whether a barrier stands between them
    my ($post, $start, $between) = @_;
    my $late = 'if (rank == 0) MPI_Send(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD); else MPI_Recv(&y, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);';
    return "MPI_Group all, from, to; int zero = 0, one = 1; $A MPI_Comm_group(MPI_COMM_WORLD, &all); MPI_Group_incl(all, 1, &zero, &from); MPI_Group_incl(all, 1, &one, &to);\n"
        . ($between ? '' : $late) . "if (rank == 1) MPI_Win_post(from, $post, win);\n" . ($between ? $B : '')
        . "if (rank == 0) { MPI_Win_start(to, $start, win);" . put('x', 1, 0) . "MPI_Win_complete(win); } else MPI_Win_wait(win);\n"
        . "MPI_Group_free(&all); MPI_Group_free(&from); MPI_Group_free(&to); $F";
}
prog('assert_nocheck_both', 'OK', unchecked_start('MPI_MODE_NOCHECK', 'MPI_MODE_NOCHECK', 1));
prog('assert_nocheck_before_post', 'B005', unchecked_start('MPI_MODE_NOCHECK', 'MPI_MODE_NOCHECK', 0));
prog('assert_nocheck_start_only', 'B005', unchecked_start('0', 'MPI_MODE_NOCHECK', 1));
prog('assert_nocheck_post_only', 'B005', unchecked_start('MPI_MODE_NOCHECK', '0', 1));
prog('assert_nocheck_lock', 'OK', "$A if (rank == 0) { MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, MPI_MODE_NOCHECK, win);" . put('x', 1, 0) . "MPI_Win_unlock(1, win); }$B$F");
prog('assert_nocheck_lock_race', 'B003', "$A MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, MPI_MODE_NOCHECK, win);" . put('x', 1, 0) . "MPI_Win_unlock(1, win);$F");
prog('assert_nocheck_lock_held', 'B005', "$A MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, MPI_MODE_NOCHECK, win); $B MPI_Win_unlock(1, win);$F");
prog('finalize_in_fence', 'B005', "$A$f" . put('x', 0, 'rank'));
prog('finalize_in_lock_all', 'B005', "$A$la");
prog('finalize_after_unlock_all', 'L007', "$A$la$ua");
prog('dynamic_detach_early', 'B003', "MPI_Aint at, other; MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win); MPI_Win_attach(win, buf, sizeof buf); MPI_Get_address(buf, &at); MPI_Sendrecv(&at, 1, MPI_AINT, 1 - rank, 0, &other, 1, MPI_AINT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);$la if (rank == 0) " . put('x', 1, 'other') . " if (rank == 1) MPI_Win_detach(win, buf);$ua if (rank == 0) MPI_Win_detach(win, buf);$F");
prog('dynamic_detach', 'OK', "MPI_Aint at, other; MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win); MPI_Win_attach(win, buf, sizeof buf); MPI_Get_address(buf, &at); MPI_Sendrecv(&at, 1, MPI_AINT, 1 - rank, 0, &other, 1, MPI_AINT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);$la if (rank == 0) " . put('x', 1, 'other') . "$ua$B MPI_Win_detach(win, buf);$F");
prog('arg_swap_double', 'M009', "$A double d = 1, e = 0, g;$la MPI_Compare_and_swap(&d, &e, &g, MPI_DOUBLE, 0, 0, win);$ua$F");
prog('arg_fetch_derived', 'M009', "$A MPI_Datatype t; MPI_Type_contiguous(2, MPI_INT, &t); MPI_Type_commit(&t);$la MPI_Fetch_and_op(buf, &buf[4], t, 0, 0, MPI_SUM, win);$ua MPI_Type_free(&t);$F");
prog('arg_accumulate_no_op', 'M009', "$A$f MPI_Accumulate(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, win);$f$F");

print "$count programs, $wrong differ\n";
exit($wrong ? 1 : 0);
