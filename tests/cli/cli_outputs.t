#!/usr/bin/perl
# What a run puts out: text within 80 columns, TAP, JSON, JUnit, annotations, files.
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
my $folder = scratch_folder();
chdir $folder or die;
delete @ENV{qw(GITHUB_STEP_SUMMARY NO_COLOR)};

my ($out, $err);
sub slurp { open my $f, '<', shift or return ''; local $/; my $t = <$f>; return $t // '' }
sub run {
    my $status = system('sh', '-c', 'exec timeout 300 "$0" "$@" >out 2>err', $simrun, @_);
    ($out, $err) = (slurp('out'), slurp('err'));
    return $status >> 8;
}
sub narrow { # longer lines only where they are commands to be copied or places without blanks
    my @wide = grep { length > 80 && !/^  (replay|draw|command) / && !m{^\s*\S+$} } split /\n/, shift;
    return join '', map { "$_\n" } @wide;
}

is(run(qw(--db none -n 4 ring)), 0, 'ring passes');
like($out, qr/^PASS ring, 4 ranks: finished, (\d+) of \1 gradients right \([0-9.]+ m?s\)$/m, 'in one line');
like($out, qr/ok x: .*worst: rank \d+ x\[\d\], error \S+,? tolerance/s, 'with the worst element of each input');
is(narrow($out), '', 'within 80 columns');
unlike($out, qr/\033/, 'without colours in a pipe');
run(qw(--db none -n 4 --color always ring));
like($out, qr/\033\[1;32mPASS/, 'with colours when asked for');

run(qw(--db none -n 4 two-comms));
like($out, qr{^  where   rank \d: Allreduce .*\n? +scenarios/two-comms\.c:\d+}m, 'places of the catalogue are short');
is(run(qw(--db none -n 4 --mutant identity ring)), 1, 'a wrong adjoint fails');
like($out, qr/WRONG x: 0 of/, 'the verdict per input says so');
like($out, qr/computed \S+, measured\s+\S+\s+\(forward\s+mode;\s+tolerance:/, 'with both values and how the tolerance came about');
like($out, qr/^  replay  simrun -n 4 --mutant identity ring$/m, 'and the command that replays it');
is(narrow($out), '', 'within 80 columns');

is(run(qw(--db none --send all --json -n), '2..3', 'head-to-head'), 1, 'JSON: findings fail');
my @runs = map { decode_json($_) } split /\n/, $out;
is(scalar @runs, 6, 'one object per number of ranks and model');
is(join(' ', map { $_->{model} } @runs[0 .. 2]), 'eager rendezvous batch', 'all three models');
is($runs[0]{findings}[0]{code}, 'D001', 'with code');
like($runs[0]{findings}[0]{places}[0]{file}, qr/head-to-head\.c$/, 'and place');
is($runs[0]{exit}, 1, 'and exit status');
run(qw(--db none -n 2 --json ring));
my $first = decode_json($out);
run(qw(--db none -n 2 --json ring));
my ($worst) = sort { $b->{error} / $b->{tolerance} <=> $a->{error} / $a->{tolerance} }
    grep { $_->{variable} eq 'x' } @{$first->{gradients}};
is(decode_json($out)->{trace_hash}, $first->{trace_hash}, 'equal runs have equal hashes');
run(qw(--db none -n 2 ring));
like($out, qr/ok x: .*worst: rank $worst->{rank} x\[$worst->{index}\], error/, 'the text names the worst element by error over tolerance');

run(qw(--db none --tap -n), '2,3', 'ring');
my @names = map { s/^(not )?ok \d+ - //r } grep { /^(not )?ok/ } split /\n/, $out;
like($out, qr/\ATAP version 13\n1\.\.(\d+)\n/, 'TAP: version and plan first');
$out =~ /^1\.\.(\d+)$/m;
is(scalar @names, $1, 'as many tests as planned');
like($names[0], qr{^ring/ranks=2: \w}, 'names of scenario, ranks and check');
run(qw(--db none --tap -n), '2,3', 'ring');
is(join("\n", map { s/^(not )?ok \d+ - //r } grep { /^(not )?ok/ } split /\n/, $out), join("\n", @names), 'the same each time');
is(system("prove -e cat out >proved 2>&1"), 0, 'prove accepts it');
is(run(qw(--db none -n 2 --tap head-to-head)), 1, 'TAP: a deadlock fails');
is(scalar(() = $out =~ /^not ok/mg), 1, 'one test');
like($out, qr/^  code: D001\n.*^  file: '.*head-to-head\.c'\n  line: \d+\n.*^  replay: 'simrun -n 2 head-to-head'\n  \.\.\.$/ms, 'with code, place and replay');
is(run(qw(--db none -n 2 --tap --allow D001 head-to-head)), 0, 'TAP: an allowed finding passes');
like($out, qr/^not ok \d+ - \S+ \w+ # TODO/m, 'as TODO');
run(qw(--db none -n 2 --tap --mutant identity ring));
like($out, qr/^  got: \S+\n  expected: \S+\n  relative_error: /m, 'a wrong gradient says got and expected');

run(qw(--db none -n 2 --junit r.xml --html r.html --dot r.dot --chrome r.json head-to-head));
like(slurp('r.xml'), qr{<testsuite name="head-to-head/ranks=2" tests="2" failures="1".*<failure message="[^"]+" type="D001">}s, 'JUnit');
SKIP: {
    my ($parser) = grep { !system("$_->[0] >/dev/null 2>&1") }
        ['xmllint --version', 'xmllint --noout r.xml'], ['python3 -c "import xml.dom.minidom"', q(python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse("r.xml")')];
    skip 'no XML parser is installed', 1 if !$parser;
    is(system("$parser->[1] 2>/dev/null"), 0, 'is XML');
}
like(slurp('r.html'), qr/D001/, 'HTML');
like(slurp('r.dot'), qr/^\s*digraph/m, 'DOT');
is(ref decode_json(slurp('r.json')), 'HASH', 'a timeline');
run(qw(--db none --html s.html -n), '2,3', 'ring');
like(slurp('s.html'), qr/>3</, 'one page of every number of ranks');
opendir my $d, '.';
is(join(' ', grep { /tmp/ } readdir $d), '', 'nothing temporary is left');

$ENV{GITHUB_STEP_SUMMARY} = "$folder/summary";
run(qw(--db none --github -n), '2,3,4', 'head-to-head');
is(scalar(() = $out =~ /^::error file=[^,]+,line=\d+,title=D001[^:]*::/mg), 1, 'GitHub: one annotation per fingerprint');
is(scalar(() = slurp('summary') =~ /^\| head-to-head \|/mg), 3, 'a row per run in the summary');
run(qw(--db none -n 2 --github ring));
is(scalar(() = slurp('summary') =~ /^### simrun/mg), 2, 'the summary is appended to');

is(run(qw(--db none -n 2 --allow D001:head-to-head.c:13 head-to-head)), 0, 'a finding is allowed at one place');
like($out, qr/\(allowed\)/, 'and still told');
is(run(qw(--db none -n 2 --allow D001:head.c:13 head-to-head)), 1, 'not at another');
is(run(qw(--db none -n 4 wildcard-recompute)), 0, 'a warning does not fail');
is(run(qw(--db none -n 4 --fail-on warning wildcard-recompute)), 1, 'unless asked for');
is(run(qw(--db none -n 2 --fail-on note two-comms)), 1, 'two orders of two communicators');
# What a new user tries, at 80 columns.
for my $command ('-n 16 ring', '-n 2 two-allreduce', 'log', 'show', 'show 1', 'show findings', 'show ops', 'show gradients', 'show ranks',
    'show metrics', 'diff 1 2', 'diff 2 1', 'query "select run_id, scenario, outcome from runs"', 'replay --witness 1', 'db info', 'doctor',
    'list', 'explain R002', 'explore -n 2 ring') {
    my $text = `'$simrun' $command --db new.db 2>&1`;
    $text = `'$simrun' --db new.db $command 2>&1` if $command =~ /^-n/;
    $text = `'$simrun' $command 2>&1` if $command =~ /^(doctor|list|explain|explore)/;
    is(narrow($text), '', "'simrun $command' fits 80 columns");
    unlike($text, qr/unknown option|^usage/m, 'and is understood');
}
is(run('help'), 0, 'help');
is(narrow($out), '', 'within 80 columns');
cmp_ok(scalar(split /\n/, $out), '<=', 40, 'on one screen');
for my $command (qw(run list check show log query graph report diff replay db export import explain mutants catalogue doctor completion)) {
    is(run($command, '--help'), 0, "$command has help");
    like($out, qr/^usage: simrun .*\Q$command\E/, 'with its usage') or diag $out;
    is(narrow($out), '', 'within 80 columns');
}
# Help, manual and completion name the same options of each command.
my $manual = slurp("$tree/docs/man/simrun.1") =~ s/\\-/-/gr =~ s/\\f.//gr;
my ($commands, $of_run) = $manual =~ /^\.SH COMMANDS\n(.*)^\.SH OPTIONS OF RUN\n(.*?)^\.SH/ms;
my %entry = map { /^(?:\[)?(\w+)/ ? ($1 => $_) : () } split /^\.B /m, $commands;
run(qw(completion bash));
my %completed = $out =~ /^ +(\S+)\) options='([^']*)'/mg;
my @commands = do { run(qw(completion words)); split ' ', $out };
sub options_of { my %seen; join ' ', sort grep { $_ ne '--help' && !$seen{$_}++ } @_ }
for my $command (@commands) {
    run($command, '--help');
    my $helped = options_of($out =~ /^  (?:-\w, |    )(--[a-z-]+)/mg);
    my $text = $command eq 'run' ? $of_run : $entry{$command};
    ok(defined $text, "the manual has $command") or next;
    my @told = grep { $_ ne '--help' } $text =~ /^(?:-\w, )?(--[a-z-]+)/mg;
    my $told = options_of(@told);
    is(scalar @told, scalar(split ' ', $told), "simrun(1) has each option of $command once");
    is($told, $helped, "simrun(1) has the options of $command, and no others");
    is(options_of(($completed{$command} // '') =~ /(--[a-z-]+)/g), $helped, "and so has the completion");
}
is(run('--version'), 0, '--version');
is(run('doctor'), 0, 'doctor');
like($out, qr/^sqlite\s+ok\s+3\.\d+/m, 'tells versions');
{
    local $ENV{SIMRUN_CACHE} = "$folder/" . 'a-folder-with-a-long-name/' x 3;
    run('doctor');
    like($out, qr{^compile cache  ok\n    \Q$ENV{SIMRUN_CACHE}\E$}m, 'a long path has a line of its own');
    is(narrow($out), '', 'within 80 columns');
}
{
    mkdir 'path';
    mkdir 'path/gdb';
    open my $broken, '>', 'path/neato' or die;
    print $broken "#!/bin/sh\nexit 1\n";
    close $broken;
    chmod 0755, 'path/neato';
    local $ENV{PATH} = "$folder/path:$ENV{PATH}";
    run('doctor');
    like($out, qr{^graphviz\s+broken\s+\S*path/neato$}m, 'a program that does not run is broken');
    unlike($out, qr{path/gdb}, 'a folder is no program');
}
is(run('explain', 'r002'), 0, 'a code in any case');
like($out, qr/^R002 /, 'is explained');
run('completion', 'bash');
is(system('bash -n out'), 0, 'the completion is bash');
is(`bash -c '. ./out; COMP_WORDS=(simrun graph --fin); COMP_CWORD=2; compopt() { :; }; _simrun; echo \${COMPREPLY[*]}'`, "--finding\n", 'and completes options');
sub completed { # the last word of a line
    my $line = join ' ', map { "'$_'" } @_;
    return `PATH='$folder/bin':\$PATH bash -c '. ./out; COMP_WORDS=("\$\@"); COMP_CWORD=\$((\$# - 1)); compopt() { :; }; _simrun; printf "%s," "\${COMPREPLY[\@]}"' - $line`;
}
mkdir 'bin';
symlink $simrun, 'bin/simrun';
mkdir 'empty';
chdir 'empty';
symlink '../out', 'out';
is(completed(qw(simrun graph --view g)), 'gradients,', 'the words of an option');
is(completed(qw(simrun completion b)), 'bash,', 'of a command');
like(completed(qw(simrun -n 4 two-al)), qr/^two-allreduce,$/, 'scenarios');
is(completed(qw(simrun graph two-al)), ',', 'where they can stand');
open my $blank, '>', 'a file.jsonl';
close $blank;
is(completed(qw(simrun check a)), 'a file.jsonl,', 'files, with their blanks');
chdir $folder;
is(run(qw(--db none -n 2 --wrapper env ring)), 0, 'a wrapper runs simrun');
done_testing();
