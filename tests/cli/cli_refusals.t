#!/usr/bin/perl
# Where nothing could be run: each form of output says so once, and none looks like success. And names of files that
# mean something to a form of output.
use strict;
use warnings;
use utf8;
use Cwd qw(abs_path);
use Encode qw(encode decode);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use JSON::PP;
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = scratch_folder();
chdir $folder or die;
$ENV{SIMRUN_CACHE} = "$folder/cache";
delete @ENV{qw(GITHUB_STEP_SUMMARY)};

my ($out, $err);
sub slurp { open my $f, '<', shift or return ''; local $/; my $t = <$f>; return $t // '' }
sub run {
    my $status = system('sh', '-c', 'exec timeout 60 "$0" --db none "$@" >out 2>err', $simrun, map { encode('UTF-8', $_) } @_);
    ($out, $err) = (slurp('out'), slurp('err'));
    return $status >> 8;
}
sub spew { my ($name, $text) = @_; open my $f, '>', encode('UTF-8', $name) or die; print $f $text; close $f }
my $program = "#include <mpi.h>\nint main(int argc, char **argv)\n{\n    MPI_Init(&argc, &argv);\n%s    return MPI_Finalize();\n}\n";
spew('words.c', "#include <mpix.h>\n" . sprintf $program, "    if (argc > 1)\n        SIM_Usage(\"there's no such word\");\n");
spew('broken.c', "int main(\n");

# The program refuses its words.
is(run(qw(--tap -n), '2,3', './words.c', 'x'), 2, 'TAP: words that are refused');
my ($planned) = $out =~ /^1\.\.(\d+)$/m;
is(scalar(() = $out =~ /^(?:not )?ok \d/mg), $planned, 'as many tests as planned');
is(join("\n", $out =~ /^not ok \d+ - (.*)$/mg), "./words.c/ranks=2: nothing else\n./words.c/ranks=3: nothing else", 'one of each run fails');
is(scalar(() = $out =~ /there''s no such word/g), 2, 'which has the sentence');
isnt(system('prove -e cat out >proved 2>&1'), 0, 'prove sees it');
is(run(qw(--tap --send all -n 2 ./words.c x)), 2, 'TAP: under each model');
is(scalar(() = $out =~ /^not ok \d+ - \S+ranks=2\/(?:eager|rendezvous|batch): /mg), 3, 'each with its name');
is(run(qw(--json -n 2 ./words.c x)), 2, 'JSON');
is_deeply([@{decode_json($out)}{qw(scenario ranks exit verdict)}], ['./words.c', 2, 2, 'ERROR'], 'an object that says so');
like(decode_json($out)->{error}, qr/there's no such word/, 'with the sentence');
is(run(qw(--junit r.xml --github -n 2 ./words.c x)), 2, 'JUnit and GitHub');
like(slurp('r.xml'), qr{<testsuite name="./words.c/ranks=2" tests="1" failures="0" errors="1".*<error message="[^"]*no such word"/>}s, 'an error, not an empty list');
like($out, qr{^::error title=./words.c/ranks=2::.*there's no such word}m, 'an annotation');

# There is no program.
is(run(qw(--tap --junit c.xml -n 2 ./broken.c)), 3, 'TAP: a program that does not compile');
like($out, qr/\ATAP version 13\n1\.\.1\nnot ok 1 - \S+: .*\n  ---\n  message: '.*does not compile.*'\n  \.\.\.\n\z/, 'is one test that fails');
like(slurp('c.xml'), qr{errors="1".*<error message="[^"]*does not compile}s, 'and an error of JUnit');
is(run(qw(--json -n 2 ./nowhere.c)), 3, 'JSON: a file that is not there');
is(decode_json($out)->{verdict}, 'ERROR', 'is an object');
{
    local $ENV{SIMRUN_CACHE} = '/proc/self/nowhere';
    is(run(qw(--tap -n 2 ./words.c)), 5, 'a cache that cannot be written');
    like($out, qr/\ATAP version 13\nBail out! .*SIMRUN_CACHE/, 'bails out');
}
spew('garbage', "garbage\n");
is(system("'$simrun' check --tap garbage >out 2>err") >> 8, 3, 'check: a file of no format');
is(join(' ', slurp('out') =~ /^not ok \d+ - (.*)$/mg), 'garbage: nothing else', 'one test fails, without a number of ranks');
SKIP: {
    skip 'a sanitizer reserves more than that', 4 if `ldd '$simrun'` =~ /lib(asan|tsan|ubsan)/;
    for my $command ('', 'explore ') {
        my $option = $command ? '' : '--db none';
        is(system("sh -c 'ulimit -v 600000; exec \"\$0\" $command$option -n 64 ring >out 2>err' '$simrun'") >> 8, 5, "${command}no memory for stacks: 5");
        like(slurp('err'), qr/cannot reserve \d+ MiB of stacks for 64 ranks/, 'and says so');
    }
}

# Names.
my $aborts = sprintf $program, "    MPI_Abort(MPI_COMM_WORLD, 1);\n";
spew("a # TODO \\b.c", $aborts);
is(run(qw(--tap -n 2), "./a # TODO \\b.c"), 1, 'a name that looks like a directive');
isnt(system('prove -e cat out >proved 2>&1'), 0, 'excuses nothing');
is(scalar(() = $out =~ /^ok \d+ - \.\/a \\# TODO \\\\b\.c\/ranks=2: /mg) > 5, 1, 'and stands escaped');
spew("\x{fc} & <b>.c", $aborts);
is(run(qw(--junit u.xml -n 2), "./\x{fc} & <b>.c"), 1, 'a name with an umlaut and markup');
like(decode('UTF-8', slurp('u.xml')), qr/<testsuite name="\.\/\x{fc} &#38; &#60;b&#62;\.c\/ranks=2"/, 'JUnit keeps it');

# Streams that the caller closed.
for my $closed ('>&-', '<&- >&-', '>&- 2>&-', '<&- >&- 2>&-') {
    is(system("'$simrun' --db closed.db --html closed.html -n 2 ring $closed") >> 8, 5, "$closed: nobody was told, so 5");
    is(`'$simrun' query --db closed.db "select count(*) from runs where outcome = 'pass'"`, "count(*)\n       1\n", 'the run is kept');
    like(slurp('closed.html'), qr/\A<!DOCTYPE html>.*<\/html>\s*\z/s, 'and nothing got into the files');
    unlink 'closed.db', 'closed.html';
}
is(system("'$simrun' --db none -n 2 ring 2>&- <&- >out") >> 8, 0, 'without stderr and stdin a run passes');
like(slurp('out'), qr/\APASS ring/, 'and is told');
done_testing();
