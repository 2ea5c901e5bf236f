#!/usr/bin/perl
# Programs that are strange in C and in C++: each run ends, with the finding that names the way and, where one did it, the rank; the runs
# before stay whole, and no process is left. A sample; HOSTILE=all runs the whole table on fibers, OS threads and two cores (make hostile).
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $sources = dirname(abs_path($0));
my $folder = tempdir(CLEANUP => 1);
chdir $folder or die;
$ENV{SIMRUN_CACHE} = "$folder/cache";

# way => code, '' ends well; '?' where nobody can know the rank.
my %ways = (
    'strange.c' => {
        (map { $_ => 'X001' } qw(quick_crash ignored_crash no_access own_text through_mem unmap_stack no_thread_pointer
            other_overflow)), (map { $_ => 'X003' } qw(at_exit_again at_exit_spins)), thread_end => 'X008', thread_exec => 'X008|X003',
        at_exit_exits => 'X002', waits_for_signal => 'X003 ?', processor_time => 'X007', big_frame => 'X004', strict_mode => 'X007|X003 ?',
        (map { $_ => '' } qw(vfork_exit spawn endless_pipe small_bomb many_ticks parent_stop parent_int everybody parent_limits
            parent_memory huge other_stack arguments))},
    'odd.c' => {
        (map { $_ => 'X003' } qw(flood_out flood_line flood_error own_lock empty_pipe child_waits)), long_poll => 'X003 ?',
        cancelled_by => 'X008|X003', thread_overflow => 'X001', trapped => 'X001', jump_handler => 'M009', jump_query => 'M009',
        jump_delete => 'D001', op_aborts => 'X002',
        (map { $_ => '' } qw(over_all cut_all swapped full_device lost_folder outlives joins_itself thread_flood rounding traps))},
    'strange.cc' => {
        (map { $_ => 'X001' } qw(uncaught uncaught_number no_throw in_a_thread joinable destructor while_unwinding terminate
            rethrow_nothing at_exit_throws object_throws pure_call)), own_terminate => 'X002', object_aborts => 'X002',
        object_exits => 'X002', out_of_delete => 'X008', out_of_collective => 'M003', out_of_handler => 'M009',
        object_calls_mpi => 'M009', object_frees_comm => 'M009',
        (map { $_ => '' } qw(out_of_op past_a_message no_memory object_asks))});
my $all = ($ENV{HOSTILE} // '') eq 'all';
my %sample = ('strange.c' => [qw(thread_end big_frame parent_stop parent_int parent_limits)], 'odd.c' => [qw(jump_query rounding over_all)],
    'strange.cc' => [qw(uncaught out_of_collective past_a_message object_calls_mpi)]);
my @executors = ([], ['--os-threads'], $all ? ['--cores', 2] : ());

sub slurp { open my $f, '<', shift or return ''; local $/; my $t = <$f>; return $t // '' }
sub simrun {
    my $status = system('sh', '-c', 'exec timeout 60 "$0" "$@" >out 2>err </dev/null', $simrun, @_);
    return ($status >> 8 || ($status & 127 ? 128 + ($status & 127) : 0), slurp('out'));
}

my ($first) = simrun(qw(--db runs.db -q -n 2), "$sources/strange.c");
is($first, 0, 'a program that behaves passes');
my $runs = 1;
for my $source (sort keys %ways) {
    for my $way ($all ? sort keys %{$ways{$source}} : @{$sample{$source}}) {
        for my $executor (@executors) {
            my ($code, $anybody) = split ' ', $ways{$source}{$way};
            my $limit = ($code // '') =~ /X003/ ? 2 : 30;
            my ($status, $out) = simrun('--db', 'runs.db', '--timeout', $limit, '-n', 4, @$executor, "$sources/$source", $way, 1);
            $runs++;
            my $ended = !$code ? $status == 0 && $out =~ /^PASS/m
                : ($status == 1 || ($status == 124 && $code =~ /X003/)) && $out =~ /^(?:$code) /m && ($anybody || $out =~ /rank\s+1\b/i);
            my ($codes) = join ' ', $out =~ /^([A-Z]\d{3}) /mg;
            ok($ended && ($codes // '') !~ / /, "$source $way @$executor" . ($code ? ": $code" : ' ends well')) or
                diag("status $status\n$out", slurp('err'));
        }
    }
}
like(`'$simrun' query --db runs.db "SELECT count(*) FROM runs" 2>&1`, qr/\b$runs\b/, 'all runs are in the database');
is(system("'$simrun' show --db runs.db 1 >out 2>&1"), 0, 'and the first can be shown');

my ($damaged, $said) = simrun(qw(--db none --timeout 30 --record-limit 16M -n 4), "$sources/heads.c");
ok($damaged == 1 && $said =~ /^X009 /m, 'parts of a record that are written over while others are let go: X009') or diag($damaged, $said);

# A database that is taken away meanwhile.
is((simrun(qw(--db gone.db -q -n 2), "$sources/strange.c"))[0], 0, 'a database');
my ($status) = simrun(qw(--db gone.db -n 2), "$sources/odd.c", 'unlink_database', 1);
like(slurp('err'), qr/gone\.db was removed/, 'that a program removes is missed by name');
is($status, 5, 'and the run says that it is not kept');
ok(`ps -eo ppid,args 2>/dev/null` !~ m{^\s*1 \S*\Q$folder\E|^\s*1 .*hostile/(?:strange|odd)\.c}m, 'no process is left behind');
done_testing();
