#!/usr/bin/perl
# Every row of the table of exit statuses, produced by a command a user could type.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;
use POSIX qw(:sys_wait_h);

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = scratch_folder();
chdir $folder or die;
$ENV{SIMRUN_CACHE} = "$folder/cache";
delete $ENV{GITHUB_STEP_SUMMARY};

sub program {
    my ($name, $head, $body) = @_;
    open my $file, '>', $name or die;
    print $file "/* about: a program of this test\n * ranks: 2\n$head */\n#include <mpi.h>\n#include <stdlib.h>\n",
        "int main(int argc, char **argv)\n{\n    MPI_Init(&argc, &argv);\n    int rank;\n",
        "    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n$body    MPI_Finalize();\n    return 0;\n}\n";
    close $file;
}

# Runs and returns the status; what was said is in $out and $err.
my ($out, $err);
sub slurp { open my $f, '<', shift or return ''; local $/; my $t = <$f>; return $t // '' }
sub run {
    my $status = system('sh', '-c', 'exec timeout 300 "$0" "$@" >out 2>err', $simrun, @_);
    ($out, $err) = (slurp('out'), slurp('err'));
    return $status >> 8;
}

program('good.c', '', '');
program('stuck.c', '', "    int x;\n    MPI_Recv(&x, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n");
program('endless.c', '', "    for (volatile int i = 0;; i++)\n        ;\n");
program('needy.c', " * requires: header:no-such-header-anywhere.h\n", '');
program('broken.c', '', "    this is no C\n");
program('aborts.c', '', "    if (rank == 1)\n        MPI_Abort(MPI_COMM_WORLD, 7);\n");
program('crashes.c', '', "    if (rank == 1)\n        abort();\n");
program('calls_nothing.c', '', "    void (*volatile nothing)(void) = NULL;\n    if (rank == 1)\n        nothing();\n");
program('exits.c', '', "    if (rank == 1)\n        exit(42);\n");

is(run('-n', 2, './good.c'), 0, 'a program without fault ends with 0');
is(run('-n', 2, './stuck.c'), 1, 'a finding ends with 1');
like($out, qr/^D001 /m, 'and is the deadlock');
is(run('-n', 2, '--allow', 'D001', './stuck.c'), 0, 'an allowed finding ends with 0');
isnt(run('-n', 2, './exits.c'), 42, "a rank's own exit code is not passed through");
for my $case (['./exits.c', qr/^X002 abort: exit code 42 at exits\.c:\d+$/m], ['./aborts.c', qr/^X002 abort: aborted with code 7$/m],
    ['./crashes.c', qr/^X001 crash: .* at crashes\.c:\d+$/m],
    ['./calls_nothing.c', qr/^X001 crash: .* at calls_nothing\.c:13$/m], ['./stuck.c', qr/deadlock.*\n.*--record ops/]) {
    is(run('--record', 'none', '--db', 'none', '-n', 2, $case->[0]), 1, "$case->[0] fails though nothing is recorded");
    like($out, $case->[1], 'and says as much as is known');
    unlike($out, qr/ at \?/, 'and nothing of what is not');
}
is(run('--record', 'none', '--db', 'none', '-n', 2, './good.c'), 0, 'what ends well passes without a recording');
is(run('-n', 2, '--timeout', 300, './stuck.c'), 1, 'a proven deadlock under a time limit is 1, not 124');

is(run('--no-such-option', './good.c'), 2, 'an unknown option ends with 2');
is(run('-n', 'many', './good.c'), 2, 'a number of ranks that is none ends with 2');
is(run('--rank', 2, './good.c'), 2, 'a misspelt option ends with 2');
like($err, qr/did you mean '--ranks'/, 'and with what was meant');
is(run('ring', '--ranks', 2), 2, 'an option behind the scenario ends with 2');
like($err, qr/simrun --ranks 2 ring/, 'and with the corrected command');
is(run('--db', 'x.db', 'show', 1), 2, 'a command behind its options ends with 2');
like($err, qr/^  simrun show --db x\.db 1$/m, 'and with the corrected command');
is(run('shwo'), 2, 'a misspelt command is not run as a scenario');
like($err, qr/simrun show/, 'and names the command');
is(run('--mutant', 'identty', './good.c'), 2, 'an unknown mutant ends with 2');
is(run('--tap', '--json', './good.c'), 2, 'two forms on stdout end with 2');
is(run('explain', 'D999'), 2, 'an unknown code ends with 2');

is(run('-n', 2, './broken.c'), 3, 'a program that does not compile ends with 3');
is(run('-n', 2, './absent.c'), 3, 'a program that is not there ends with 3');
open my $bad, '>', 'bad.jsonl' or die;
print $bad "{\"simrun\": 1, \"ranks\": 2}\n{\"op\": \"Sent\", \"rank\": 0}\n";
close $bad;
is(run('check', 'bad.jsonl'), 3, 'a malformed trace ends with 3');
like($err, qr/bad\.jsonl:2:\d+: /, 'and names file, line and column');

is(run('list', 'no scenario has this in its name'), 4, 'a pattern that selects nothing ends with 4');
is(run('show', '--db', 'simrun.db', 999), 4, 'a run that is not there ends with 4');

is(run('-n', 2, '--junit', '/no/such/folder/out.xml', './good.c'), 5, 'an output that cannot be written ends with 5');
like($err, qr{/no/such/folder/out\.xml}, 'and is named');
is(run('-n', 2, '--db', '/no/such/folder/db', './good.c'), 5, 'a database that cannot be written ends with 5');
is(run('-n', 2, '--tap', '--db', 'none', '--html', '/no/such/folder/x', './stuck.c'), 5, 'and outweighs a finding');

is(run('-n', 2, qw(--db none --html /no/such/a.html --chrome /no/such/b --junit c.xml --dot d.dot), './good.c'), 5, 'one output that cannot be written');
like($err, qr{/no/such/a\.html.*nothing was run\n.*/no/such/b.*nothing was run}, 'is named, and so is any other');
ok(!-e 'c.xml' && !-e 'd.dot', 'before anything runs');
is(run('-n', 2, qw(--db none --dot x.pdf), './good.c'), 2, "a picture's name that says nothing of its form ends with 2");
is($out, '', 'before anything runs');
is(run('-n', 2, './needy.c'), 77, 'a requirement that is absent ends with 77');
like($err, qr/no-such-header-anywhere\.h/, 'and is named');
run('--tap', '-n', 2, './needy.c');
like($out, qr/^1\.\.0 # SKIP .*no-such-header-anywhere\.h/m, 'in TAP it is skipped');

is(run('-n', 2, '--timeout', 0.3, './endless.c'), 124, 'a time limit without a verdict ends with 124');

for my $case (['INT', 130], ['TERM', 143]) {
    my ($signal, $expected) = @$case;
    my $child = fork() // die;
    if (!$child) {
        open STDOUT, '>', 'out';
        open STDERR, '>', 'err';
        exec $simrun, '-n', 2, '--db', "$signal.db", './endless.c' or die;
    }
    # The run is under way when its row is committed; a program that never ends gives us all the time.
    my $begun = 0;
    until ($begun || waitpid($child, WNOHANG) > 0) {
        $begun = `'$simrun' query --db $signal.db 'select count(*) from runs' 2>/dev/null` =~ /^\s*1$/m;
    }
    ok($begun, "a run that goes on is in the database already ($signal)");
    kill $signal, $child;
    waitpid $child, 0;
    is(WIFEXITED($?) ? WEXITSTATUS($?) : -1, $expected, "an interruption by SIG$signal ends with $expected");
    is(run('log', '--db', "$signal.db"), 0, 'what was there is kept');
    like($out, qr/interrupted/, 'and the run is marked');
}
done_testing();
