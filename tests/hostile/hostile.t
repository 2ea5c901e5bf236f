#!/usr/bin/perl
# Random bytes over everything that a program can reach of its judge's: the judge survives and says so. HOSTILE_WRITES=n: so many runs of
# it (make hostile).
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $program = dirname(abs_path($0)) . '/misbehave.c';
my $writes = $ENV{HOSTILE_WRITES} // 20;
my $folder = scratch_folder();
chdir $folder or die;
$ENV{SIMRUN_CACHE} = "$folder/cache";

sub slurp { open my $f, '<', shift or return ''; local $/; my $t = <$f>; return $t // '' }
# Status, and what was printed.
sub run {
    my $status = system('sh', '-c', 'exec timeout 60 "$0" "$@" >out 2>err </dev/null', $simrun, @_);
    return ($status >> 8 || ($status & 127 ? 128 + ($status & 127) : 0), slurp('out'));
}

my %seen;
for my $seed (1 .. $writes) {
    my ($status, $out) = run('--db', 'none', '--timeout', 10, '-n', 4, $seed % 2 ? '--os-threads' : (), $program,
        $seed % 4 < 2 ? 'sprinkle' : 'random', 'middle', 1, $seed);
    my $good = $status == 1 || ($status == 0 && $seed % 4 < 2) || $status == 124;
    diag("seed $seed: status $status\n$out") if !$good;
    $seen{$good ? 'survived' : 'lost'}++;
    $seen{told}++ if $out =~ /^X009 /m;
}
is($seen{lost} // 0, 0, "random bytes written over everything in reach: the parent survived $writes times");
ok(($seen{told} // 0) >= 0.9 * $writes, 'and said so') or diag("$seen{told} of $writes");
done_testing();
