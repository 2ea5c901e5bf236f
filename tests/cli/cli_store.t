#!/usr/bin/perl
# Runs are kept, and can be shown, asked, drawn, compared and replayed.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use JSON::PP;
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $tree   = abs_path('.');
my $data   = abs_path('tests/data/store-version-1.sqlite');
my $folder = scratch_folder();
chdir $folder or die;

my ($out, $err);
sub slurp { open my $f, '<', shift or return ''; local $/; my $t = <$f>; return $t // '' }
sub run {
    my $status = system('sh', '-c', 'exec timeout 300 "$0" "$@" >out 2>err', $simrun, @_);
    ($out, $err) = (slurp('out'), slurp('err'));
    return $status >> 8;
}

is(run('show'), 3, 'without a database there is nothing to show');
like($err, qr/--db FILE/, 'which says what to do');
is(run(qw(-n 2 ring)), 0, 'run 1');
is(run(qw(-n 4 head-to-head)), 1, 'run 2');
like($out, qr/^  replay  simrun replay 2$/m, 'names the command that replays it');
like($out, qr/^  draw    simrun graph 2 --finding 1 -o finding\.svg$/m, 'and the one that draws it');
is(run(qw(-n 3 two-comms)), 1, 'run 3');
like($out, qr/^  replay  simrun replay 3 --witness 1$/m, 'has a witness');
is(run(qw(-n 2 --mutant identity ring)), 1, 'run 4');

is(run('log'), 0, 'log');
is(scalar(() = $out =~ /^\s+\d+ /mg), 4, 'lists four runs');
is(run('show', 1), 0, 'show');
like($out, qr/^PASS ring, 2 ranks, eager/, 'tells the verdict');
is(run(qw(show 2 findings)), 0, 'show findings');
like($out, qr/^finding 1 of 1\nD001 deadlock/, 'tells them in full');
is(run(qw(show ops 2 --limit 0 --rank 0)), 0, 'show ops');
like($out, qr/^\s+0\s+\d+ BLOCKED\s+forward\s+Recv from 1 tag 3/m, 'tells where a rank stands');
run(qw(show 2 ranks));
is(scalar(() = $out =~ /^\s+[01] BLOCKED/mg), 2, 'show ranks tells who is blocked');
run(qw(show 4 gradients --limit 0));
like($out, qr/^WRONG\s+0 x\s+0 /m, 'show gradients tells what is wrong');
is(run(qw(show 1 metrics)), 0, 'show metrics');
like($out, qr/^gradient_error\s+\S+ at 1 \.\. \S+ at \S+, \d+ points, rank \d$/m, 'tells a curve in a line');
like($out, qr/^gradient check worlds\s+\d+ worlds/m, 'and a number in its own');
run(qw(show 1 metrics -v --limit 0));
cmp_ok(scalar(() = $out =~ /^gradient_error\s.* step /mg), '>', 5, 'or every point');
is(run(qw(show 2 findigs)), 2, 'a misspelt part is refused');
is(run(qw(show 2 --json)), 0, 'show --json');
is(decode_json($out)->{findings}[0]{code}, 'D001', 'holds the finding');

is(run('query', 'select scenario, ranks from v_runs order by run_id'), 0, 'query');
like($out, qr/^scenario\s+ranks\nring\s+2\nhead-to-head\s+4\n/, 'prints a table');
run('query', '--json', 'select code from findings where run_id=2');
is(decode_json($out)->{code}, 'D001', 'or JSON');
run('query', '--csv', q(select 'a,"b' as x));
is($out, qq(x\n"a,""b"\n), 'or CSV');
for my $sql ('delete from runs', "attach 'x.db' as x", 'pragma user_version=9', 'select 1; select 2', 'select nonsense', '') {
    is(run('query', $sql), 2, "'$sql' is refused");
}
is(run('query', 'select count(*) from runs'), 0, 'and nothing');
like($out, qr/^\s*4$/m, 'has changed');

is(run(qw(graph 2 --finding 1 -o f.dot)), 0, 'graph');
like(slurp('f.dot'), qr/digraph/, 'draws');
is(run(qw(graph 2 --finding 7)), 2, 'a finding that is not there is refused');
for my $view (qw(timeline gradients)) {
    is(run('graph', 1, '--view', $view, '-o', "$view.svg"), 0, "graph --view $view");
    like(slurp("$view.svg"), qr/^<svg.*<\/svg>$/ms, 'draws');
}
is(run(qw(graph 1 --view wall)), 4, 'a timeline in wall time of a run without');
like($err, qr/--record events/, 'says how to have it');
is(run(qw(graph 1 --view schedule)), 4, 'a run without a schedule has none');
is(run(qw(graph 1 --plot loss)), 4, 'neither plots of what it did not measure');
is(run(qw(graph 1 --view nonsense)), 2, 'an unknown view is refused');
like($err, qr/timeline, wall, schedule, gradients, metrics/, 'with those there are');
is(run(qw(graph 1 --view timeline -o t.png)), 2, 'a timeline is SVG');
is(run(qw(report 1 2 -o r.html)), 0, 'report');
like(slurp('r.html'), qr/head-to-head/, 'writes a page');

is(run(qw(diff 1 4)), 1, 'diff: new findings end with 1');
like($out, qr/^new\s+G001 .*findings: [1-9] new, 0 fixed/ms, 'and are listed');
is(run(qw(diff 4 1)), 0, 'the other way round they are fixed');
is(run(qw(diff 1 1)), 0, 'a run and itself');
like($out, qr/^traces: the same$/m, 'are the same');
unlike($out, qr/^metric /m, 'in every number, points of curves too');

is(run(qw(replay 1)), 0, 'replay');
like($out, qr/^replay of run 1: the same trace \([0-9a-f]{16}\)$/m, 'gives the same trace');
is(run(qw(replay 2)), 1, 'a replay ends as the run did');
run('query', 'select parent_run_id from runs order by run_id desc limit 1');
like($out, qr/^\s*2$/m, 'and knows what it repeats');
is(run(qw(replay 3 --witness 1)), 1, 'a witness');
like($out, qr/the schedule stands still/, 'shows what the finding says');
is(run(qw(replay 2 --witness 1)), 4, 'a finding without a witness');

is(run(qw(export 2 -o t.jsonl)), 0, 'export');
is(run(qw(check t.jsonl)), 1, 'a file is judged like the run');
like($out, qr/^D001 /m, 'with the same finding');
is(system("'$simrun' check - <t.jsonl >out"), 1 << 8, 'from standard input, too');
is(run(qw(import t.jsonl)), 0, 'import');
like($out, qr/^run \d+: t\.jsonl, 4 ranks, \d+ operations, 1 findings$/m, 'keeps it');
is(run(qw(export 2 --format chrome -o t.json)), 0, 'a timeline');
ok(decode_json(slurp('t.json')), 'is JSON');
is(run(qw(export 2 --format nonsense)), 2, 'an unknown format is refused');
like($err, qr/jsonl.*chrome/, 'with those there are');

is(run(qw(db info)), 0, 'db info');
like($out, qr/^integrity  ok$/m, 'looks at all of it');
is(run(qw(db gc --keep 2)), 0, 'db gc');
run('query', 'select count(*) from runs');
like($out, qr/^\s*2$/m, 'keeps the newest');
system('cp', $data, 'old.db');
is(run(qw(log --db old.db)), 3, 'an old database is not read');
like($err, qr/migrate/, 'but named with what brings it up to date');
is(run(qw(db migrate --db old.db)), 0, 'db migrate');
is(run(qw(log --db old.db)), 0, 'then it is');
SKIP: {
    skip 'sqlite3 is not installed', 6 if system('sqlite3 --version >/dev/null 2>&1');
    system('cp old.db newer.db && sqlite3 newer.db "pragma user_version=99"');
    is(run(qw(-n 2 --db newer.db ring)), 3, 'a newer database is refused');
    like($err, qr/newer\.db: written by a newer simrun \(version 99/, 'with the path and its version');
    system('sqlite3 other.db "create table t(a)"');
    is(run(qw(-n 2 --db other.db ring)), 3, 'a database of another program, too');
    like($err, qr/other\.db: a database of another program/, 'with the reason');
    is(run(qw(show --db other.db)), 3, 'also for reading');
    is(`sqlite3 other.db "select name from sqlite_master"`, "t\n", 'and is not touched');
}
run(qw(db nonsense));
like($err, qr/info, migrate, gc and unpack/, 'an unknown action is refused with those there are');

# A run of many operations: in pages, which every command reads, and rows on demand.
is(run(qw(run -n 4 --db long.db), "$tree/bench/loops.c", qw(irregular 8400)), 0, 'a run of 100,800 operations');
is(run(qw(show ops --db long.db --limit 3)), 0, 'is shown');
like($out, qr/^ +0 +1 complete  forward  Sendrecv to [123] tag \d+  .*loops\.c:\d+\n.*\n100805 more/m, 'with its operations');
is(run('query', '--db', 'long.db', 'select count(*) from v_ops'), 0, 'a query of its operations');
like($out, qr/^\s*0$/m, 'sees none');
like($err, qr/the operations of 1 long run are in pages.*simrun db unpack 1 --db long\.db$/m, 'and says why');
run('query', '--db', 'long.db', 'select count(*) from v_runs');
is($err, '', 'one of its runs does not');
run(qw(db info --db long.db));
like($out, qr/^ops        100808$/m, 'db info counts them');
my $size = -s 'long.db';
run(qw(export 1 --db long.db --format jsonl -o pages.jsonl));
is(run(qw(db unpack 1 --db long.db)), 0, 'db unpack');
like($out, qr/^run 1: 100808 operations are rows$/m, 'makes rows of them');
cmp_ok(-s 'long.db', '>', 5 * $size, 'which take more than five times the room');
run('query', '--db', 'long.db', 'select count(*) from v_matches where sender <> receiver');
like($out, qr/^\s*33600$/m, 'messages are counted by a query');
is($err, '', 'without a remark');
run(qw(export 1 --db long.db --format jsonl -o rows.jsonl));
is(system('cmp -s pages.jsonl rows.jsonl'), 0, 'both export the same');
is(run(qw(replay --db long.db)), 0, 'a long run is replayed');
like($out, qr/the same trace/, 'to the same trace');
is(run(qw(diff 1 2 --db long.db)), 0, 'which lies in pages, and differs in nothing from the rows');
is(run(qw(db unpack nine --db long.db)), 3, 'a word is no run');
is(run(qw(db unpack 9 --db long.db)), 4, 'nor is one that is not there');
is(run(qw(db info 1)), 2, 'and what wants no run takes none');

is(run(qw(-n 2 --db none ring)), 0, '--db none');
run('query', 'select count(*) from runs');
like($out, qr/^\s*2$/m, 'keeps nothing');
is(run(qw(-n 2 --db), 'with space.db', 'head-to-head'), 1, 'another database');
like($out, qr/^  replay  simrun replay --db 'with space.db' 1$/m, 'is part of the commands printed');
# A program that is a file, with a name that needs quotes, is found again from another folder.
mkdir 'programs';
mkdir 'elsewhere';
for my $name ("it's mine.c", '# $y \\z.c') {
    open my $program, '>', "programs/$name" or die;
    print $program "#include <mpi.h>\nint main(int c, char **v)\n{\n    MPI_Init(&c, &v);\n    MPI_Finalize();\n    return c != 2;\n}\n";
    close $program;
    chdir 'programs' or die;
    is(run(qw(--db ../moved.db -n 2), "./$name", 'a word'), 0, "a program called $name");
    chdir '../elsewhere' or die;
    is(run(qw(replay --db ../moved.db)), 0, 'is replayed from another folder');
    like($out, qr/the same trace/, 'with the same trace');
    chdir '..' or die;
}
{
    my $program = "new\nline.c";
    open my $file, '>', $program or die;
    print $file "int main(void) { return 0; }\n";
    close $file;
    is(run(qw(--db none -n 2), "./$program"), 3, 'a name with a line break is refused');
    like($err, qr/line break/, 'and says why');
}
# A command line that is too long to be kept is not run again by half.
is(run(qw(--db long.db -n 2 ring), 'z' x 5000), 0, 'a long argument');
is(run(qw(replay --db long.db)), 3, 'cannot be repeated');
like($err, qr/too long to be kept/, 'and it is said why');
is(run(qw(--db long.db -n 2 ring), ('a') x 400), 0, 'many arguments');
is(run(qw(replay --db long.db)), 3, 'neither');
like($err, qr/too long to be kept/, 'for the same reason');
is(run(qw(--db none -n 2), './' . 'x' x 600), 3, 'a path that is too long');
like($err, qr/at most 511 bytes/, 'is refused as such');
my @children = map { my $n = $_; fork() // die or do { open STDOUT, '>', '/dev/null'; exec $simrun, qw(-n 2 --db many.db ring) } } 1 .. 4;
my $failed = 0;
for (@children) { waitpid $_, 0; $failed += $? != 0 }
is($failed, 0, 'four jobs share a database');
run('query', '--db', 'many.db', q(select count(*) from runs where outcome='pass'));
like($out, qr/^\s*4$/m, 'and all are kept');

# Whenever it is killed: the database opens, what was there before is whole, the run is marked.
for my $instant (0 .. 11) {
    my $child = fork() // die;
    if (!$child) {
        open STDOUT, '>', '/dev/null';
        open STDERR, '>', '/dev/null';
        exec $simrun, qw(-n 64 --db killed.db ring) or die;
    }
    select undef, undef, undef, 0.012 * $instant;
    kill 'KILL', $child;
    waitpid $child, 0;
}
is(run(qw(-n 2 --db killed.db ring)), 0, 'after twelve kills the database is written to');
is(run(qw(db info --db killed.db)), 0, 'is sound');
run('query', '--db', 'killed.db', q(select count(*) from runs where outcome is null));
like($out, qr/^\s*0$/m, 'and no run is left that seems to go on');
run('query', '--db', 'killed.db', q(select count(*) from runs where outcome='pass' and (select count(*) from ranks k where k.run_id=runs.run_id)<>runs.ranks));
like($out, qr/^\s*0$/m, 'those that passed are whole');

# A disk that is full, as a limit on the size of files.
is(run(qw(-n 2 --db full.db ring)), 0, 'a run');
my $blocks = int((-s 'full.db') / 512) + 8;
run(qw(-n 64 --db large.db ring));
run(qw(export --db large.db -o large.jsonl));
is(system("sh -c 'ulimit -f $blocks; exec \"\$0\" import --db full.db large.jsonl >out 2>err' '$simrun'") >> 8, 5, 'no room for another: 5');
like(slurp('err'), qr/full\.db/, 'with the path');
is(run(qw(show 1 --db full.db)), 0, 'the earlier run is whole');
is(run(qw(db info --db full.db)), 0, 'the database is sound');
SKIP: {
    skip 'no /dev/full', 14 if !-e '/dev/full';
    is(system("'$simrun' -n 2 --db none ring >/dev/full 2>err") >> 8, 5, 'a full standard output: 5');
    for my $command ('show', 'log', 'list', 'help', 'explain', 'doctor', 'mutants', 'completion bash', 'show ops', 'db info',
        'query "select * from runs"', 'export --format jsonl', 'catalogue ring') {
        my $status = system("'$simrun' $command >/dev/full 2>err") >> 8;
        is($status, 5, "and so with $command") or diag slurp('err');
    }
}
done_testing();
