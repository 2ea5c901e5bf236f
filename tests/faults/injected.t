#!/usr/bin/perl
# Faults on demand: each kind strikes where it was asked to, once, on both executors; the verdict names it as the cause, the
# replay command does it again, and a run that it does not hurt passes.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $ring = dirname(abs_path($0)) . '/ring.c';
my $folder = scratch_folder();
$ENV{SIMRUN_CACHE} ||= "$folder/cache";
chdir $folder or die;
system("cp", $ring, ".") == 0 or die; # its folder may have blanks in its name
$ring = 'ring.c';

sub run { my $out = `timeout 60 '$simrun' @_ 2>&1 </dev/null`; return ($? >> 8, $out) }
sub printed { return join ' ', sort map { /^rank (\d+ has \d+ of \d+)$/ ? $1 : () } split /\n/, shift }

my $usual = '0 has 2 of 6 1 has 3 of 6 2 has 0 of 6 3 has 1 of 6';
# fault => status, outcome, what is printed (undef: not compared)
my @cases = (
    ['crash:1@2', 1, 'deadlock'],
    ['hang:1@2', 1, 'deadlock'],
    ['slow:1@2', 0, 'finished', $usual],
    ['oom:1@2', 0, 'finished', '0 has 2 of 1003 1 has 3 of 1003 2 has 0 of 1003 3 has 1 of 1003'],
    ['drop:1@2', 1, 'deadlock'],
    ['delay:1@2', 0, 'finished', $usual],
    # Rank 2 takes the first message twice, and rank 3 gets what it passes on.
    ['duplicate:1@2', 0, 'finished', '0 has 2 of 7 1 has 3 of 7 2 has 1 of 7 3 has 1 of 7'],
    ['corrupt:1@2', 0, 'finished'],
    ['cut:1-2@2', 1, 'deadlock'],
    ['cut:0-2@2', 0, 'finished', $usual],
    ['crash:1@99', 0, 'finished', $usual, 'none'],
    ['crash:0@2,crash:3@2', 1, 'deadlock'],
);
for my $case (@cases) {
    my ($fault, $wanted, $outcome, $prints, $none) = @$case;
    for my $executor ('', '--os-threads') {
        my ($status, $out) = run("--db none -n 4 --fault $fault $executor $ring");
        my $kind = ($fault =~ /^(\w+)/)[0];
        my $good = $status == $wanted && $out =~ /4 ranks: $outcome,/;
        $good &&= printed($out) eq $prints if defined $prints;
        $good &&= printed($out) ne $usual if $kind eq 'corrupt';
        $good &&= $none ? $out =~ /did not\s+strike/ && $out !~ /^X010/m
                        : $out =~ /^X010 fault-injected(?: \(\w+\))?: injected fault: $kind at \S*ring\.c:14/m;
        $good &&= $out =~ /Not handled: rank \d, / if $wanted;
        is(scalar(() = $out =~ /^[A-WYZ]\d\d\d [a-z-]+(?: \(\w+\))?:/mg), 0, "$fault $executor: no defect of the program is told") or diag($out);
        ok($good, "$fault $executor: $outcome") or diag("status $status\n$out");
    }
}

my ($status, $out) = run("--db none -n 4 --fault crash:random:5\@4 $ring");
my ($replay) = $out =~ /^  replay  simrun (.*)$/m;
like($replay, qr/--fault crash:\d\@\d /, 'what was chosen at random is named in the replay command');
my ($again, $same) = run("--db none $replay");
my $title = qr/struck in its\s+operation (\d+)/;
is(($same =~ $title)[0], ($out =~ $title)[0], 'which does the same');
my %chosen;
for my $seed (1 .. 6) {
    (run("--db none -q -n 4 --fault hang:random:$seed\@4 $ring"))[1] =~ /--fault (\S+) struck/ and $chosen{$1}++;
}
cmp_ok(scalar(keys %chosen), '>', 2, 'other seeds choose other places');

($status, $out) = run("--db runs.db -n 4 --fault crash:1\@2 $ring");
is($status, 1, 'the run is kept');
like(`'$simrun' show --db runs.db findings 2>&1`, qr/X010/, 'with the fault as its finding');
like(`'$simrun' replay --db runs.db 1 2>&1`, qr/struck in its\s+operation 4/, 'and replayed with it');

for my $bad ('crash', 'crash:1', 'crash:x@1', 'crash:1@0', 'crash:1@2,', 'melt:1@2', 'cut:1@2', 'cut:1-1@2', 'crash:9@1') {
    ($status, $out) = run("--db none -n 4 --fault '$bad' $ring");
    is($status, 2, "'$bad' is refused") or diag($out);
}
is((run("--db none -n 4 --record none --fault crash:1\@2 $ring"))[0], 2, 'so is a fault without a record');
done_testing();
