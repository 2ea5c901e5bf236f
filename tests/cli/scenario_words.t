#!/usr/bin/perl
# A word that a scenario does not know is refused, never taken for the usual one: a run that shows nothing must not pass.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = $ENV{SIMRUN} || 'build/simrun';
my $folder = scratch_folder();
$ENV{SIMRUN_CACHE} //= "$folder/cache"; # scenarios that others run as well

my $said;
sub run {
    my $status = system('sh', '-c', "exec timeout 300 \"\$0\" --db none --no-gradients \"\$@\" >$folder/out 2>&1", $simrun, @_);
    open my $file, '<', "$folder/out" or die;
    local $/;
    $said = <$file> // '';
    return $status >> 8;
}

for my $path (sort glob 'scenarios/*.c') {
    my ($name) = $path =~ m{([^/]+)\.c$};
    next if $name =~ /^op-/;
    open my $file, '<', $path or die;
    my $text = do { local $/; <$file> };
    my $takes = $text =~ /^ \* (?:variant:.*)?arguments:/m || $text =~ /argv\[/;
    next unless $takes || $text =~ /<words\.h>/;
    like($text, qr/<words\.h>/, "$name reads its words by words.h");
    my $status = run($name, 'no-such-word');
    if ($status == 77) {
      SKIP: { skip "$name: what it requires is not here", 1 }
        next;
    }
    is($status, 2, "$name refuses a word it does not know") or diag($said);
    like($said, qr/no-such-word/, "$name says which");
    my ($words) = $text =~ /arguments: ([^;\n]*)/;
    $status = run($name, split(' ', $words // ''), ('spare') x 5);
    is($status, 2, "$name refuses words too many") or diag($said);
}

for my $case (['gpipe', '0'], ['gpipe', '-1'], ['gpipe', '1000000000'], ['gpipe', 'abc'], ['gpipe', ''], ['gpipe', '3x'],
              ['one-f-one-b', 'fused', '0'], ['pipeline', '1f1b', 'batched', '0'], ['pipeline', '1f1b', 'batched', '1e9'],
              ['pipeline', 'interleaved', 'ordered', '8', '-1'], ['server-async', 'consistent', '-1'],
              ['dist-engine', 'nested', '1', '0'], ['dist-engine', 'nested', '-1', '2'],
              ['dist-engine', 'crossing', '1', 'abc'],
              ['server-sync', 'top-k:7'], ['server-sync', 'zstd:x']) {
    is(run(@$case), 2, "refused: @$case") or diag($said);
    like($said, qr/expected a whole number from|no coder is called .* there are: none/, 'and says what would do');
}
is(run('dist-autograd', 'builtin', 'slow'), 2, 'a mode that is none is refused');
like($said, qr/fast lineage mark/, 'and the modes are named');

# The same from every door.
is(system("'$simrun' explore -n 2 two-allreduce no-such-word >$folder/out 2>&1") >> 8, 2, 'an exploration refuses it as well');
is(run('--os-threads', 'two-allreduce', 'no-such-word'), 2, 'also where ranks are threads of the system');
is(run('--record', 'none', 'two-allreduce', 'no-such-word'), 2, 'also without a recording');
is(run('--tap', 'two-allreduce', 'no-such-word'), 2, 'also under TAP');
unlike($said, qr/^ok (?!.* # SKIP )/m, 'where nothing is good then');
is(scalar(() = $said =~ /^not ok/mg), 1, 'and one test fails');
done_testing();
