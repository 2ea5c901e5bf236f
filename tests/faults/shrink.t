#!/usr/bin/perl
# A solver and a training loop of 4 ranks that shrink and continue: every single crash is explored, the one place that is not handled
# is named, and whichever rank dies wherever else, the others end with the bits of the undisturbed run.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $source = dirname(abs_path($0)) . '/../../scenarios/shrinking-solver.c';
my $folder = scratch_folder();
$ENV{SIMRUN_CACHE} ||= "$folder/cache";
chdir $folder or die;

sub run { my $out = `timeout 100 '$simrun' @_ 2>&1 </dev/null`; return ($? >> 8, $out) }
sub printed { return { map { /^(?:solution|gradient) on rank (\d): (.*)$/ ? ($1 => $2) : () } split /\n/, shift } }
open my $file, '<', $source or die "$source: $!";
my $line = 0;
while (<$file>) { $line = $. if /MPI_Bcast/ }

for my $what ('solver', 'training') {
    my ($status, $out) = run("--db none -n 4 shrinking-solver $what");
    my $usual = printed($out);
    is(scalar(keys %$usual), 4, "$what: every rank prints") or diag($out);
    ($status, $out) = run("prove --db none -n 4 --no-gradients --faults crash:1 shrinking-solver $what");
    (my $flat = $out) =~ s/\s+/ /g;
    my ($operations, $places, $handled, $not) =
        $flat =~ /single faults \(crash\): (\d+) operations, (\d+) places, (\d+) handled, (\d+) not, all there are/;
    ok(defined $not && $status == 1, 'all single crashes are explored, completely') or diag($out);
    my @named = $flat =~ /X010 fault-injected: crash not handled at (\w+ at \S*:\d+)/g;
    is(scalar(@named), 1, "of $places places one is not handled") or diag($out);
    like($named[0] // '', qr/^Bcast at \S*shrinking-solver\.c:$line$/, 'and it is named: the broadcast of the problem');
    is($handled + $not, $places, 'every place is one or the other');

    for my $executor ('', '--os-threads', '--cores 2') {
        my ($struck, @wrong) = (0);
        for my $fault ($executor ? qw(1@4 3@6 0@7) : map { my $r = $_; map { "$r\@$_" } 3 .. 9 } 0 .. 3) {
            ($status, $out) = run("--db none -n 4 --no-gradients $executor --fault crash:$fault shrinking-solver $what");
            my ($rank) = $fault =~ /^(\d)/;
            my $now = printed($out);
            $struck += $out =~ /^X010/m;
            push @wrong, $fault if $status || grep { ($now->{$_} // '') ne $usual->{$_} } grep { $_ != $rank } 0 .. 3;
        }
        is("@wrong", '', "$what $executor: after each of $struck crashes the others have the bits of the undisturbed run");
        cmp_ok($struck, '>=', 3, 'and they struck');
    }
}
done_testing();
