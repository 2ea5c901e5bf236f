#!/usr/bin/perl
# All single faults of a kind: what 'simrun prove --faults' says it explored, handled and did not handle is what one run for each
# rank and operation shows, on both executors.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $here = dirname(abs_path($0));
my $folder = scratch_folder();
$ENV{SIMRUN_CACHE} ||= "$folder/cache";
chdir $folder or die;
system('cp', "$here/ring.c", '.') == 0 or die; # its folder may have blanks in its name

sub run { my $out = `timeout 60 '$simrun' @_ 2>&1 </dev/null`; return ($? >> 8, $out) }
# rank => what it prints
sub printed { return { map { /^rank (\d+) (has \d+ of \d+)$/ ? ($1 => $2) : () } split /\n/, shift } }

my ($ranks, $operations) = (3, 9);
my $usual = printed((run("--db none -n $ranks ring.c"))[1]);
is(scalar(keys %$usual), $ranks, 'every rank prints');

sub brute_force {
    my ($kind, $executor) = @_;
    my (%places, $handled);
    for my $rank (0 .. $ranks - 1) {
        my $reached = 0; # a fault strikes in the next operation that it can: all up to that one are the same place
        for my $op (1 .. $operations) {
            next if $op <= $reached && !$ENV{FULL};
            my ($status, $out) = run("--db none -n $ranks --memory $executor --no-gradients --fault $kind:$rank\@$op ring.c");
            my ($struck) = $out =~ /struck\s+in\s+its\s+operation\s+(\d+)/ or next;
            $reached = $struck;
            next if $places{"$rank\@$struck"}++;
            my $same = 1;
            my $now = printed($out);
            for my $other (grep { $kind !~ /crash|hang/ || $_ != $rank } 0 .. $ranks - 1) {
                $same &&= ($now->{$other} // '') eq $usual->{$other};
            }
            $handled += $status == 0 && $same;
        }
    }
    my $places = keys %places;
    return sprintf '%d operations, %d places, %d handled, %d not', $ranks * $operations, $places, $handled, $places - $handled;
}

for my $case ((map { [$_, ''] } qw(crash hang drop delay duplicate corrupt oom)), ['crash', '--os-threads']) {
    my ($kind, $executor) = @$case;
    my ($status, $out) = run("prove --db none -n $ranks $executor --no-gradients --faults $kind:1 ring.c");
    my $wanted = brute_force($kind, $executor);
    (my $flat = $out) =~ s/\s+/ /g;
    like($flat, qr/single faults \($kind\): \Q$wanted\E, all there are/, "$kind $executor: $wanted") or diag($out);
    my $none = $wanted =~ /, 0 not$/;
    is($status, $none ? 0 : 1, $none ? 'and all is well' : 'and that is a failure');
    next if $none;
    like($flat, qr/X010 fault-injected: $kind not handled at \w+ at \S*ring\.c:(14|23): /, 'which names the line') or diag($out);
    my ($first) = $flat =~ /The first of them: simrun (.*?)\S*ring\.c/;
    my ($again, $shown) = run("--db none $first ring.c");
    like($shown, qr/^X010/m, "and '$first' shows it");
}
my ($status, $out) = run("prove --db none -n 3 --budget 0.001s --no-gradients --faults crash:1 ring.c");
like($out =~ s/\s+/ /gr, qr/not complete|beyond the budget|^(?:.* )?TIMEOUT /, 'a budget that was spent is named');

# Pairs of crashes: every operation of every rank with every operation of every other one. FULL=1 also of ranks that go on without the dead.
sub all_pairs {
    my ($most, $same, $n, @program) = @_;
    my (%places, $handled);
    for my $rank (0 .. $n - 1) {
        for my $second ($rank + 1 .. $n - 1) {
            for my $op (1 .. $most) {
                for my $other (1 .. $most) {
                    my ($status, $out) = run("--db none -n $n --memory --no-gradients --fault crash:$rank\@$op,crash:$second\@$other @program");
                    my %at = $out =~ /crash:(\d+)@\d+\s+struck\s+in\s+its\s+operation\s+(\d+)/g;
                    next if keys %at < 2 || $places{join ' ', map { $_ => $at{$_} } $rank, $second}++;
                    $handled += $status == 0 && $same->($out, $rank, $second);
                }
            }
        }
    }
    my $places = keys %places;
    return sprintf '%d places, %d handled, %d not', $places, $handled // 0, $places - ($handled // 0);
}
my @pairs = ([3, 9, "ring.c", sub {
    my ($out, @dead) = @_;
    my $now = printed($out);
    return !grep { my $r = $_; !(grep { $_ == $r } @dead) && ($now->{$r} // '') ne $usual->{$r} } 0 .. 2;
}]);
push @pairs, [3, 24, 'shrinking-solver', sub { my %said = map { $_ => 1 } $_[0] =~ /^solution on rank \d+: (.*)/mg; return keys %said == 1 }]
    if $ENV{FULL};
for my $case (@pairs) {
    my ($n, $most, $program, $same) = @$case;
    my ($status, $out) = run("prove --db none -n $n --no-gradients --faults crash:2 $program");
    my $wanted = all_pairs($most, $same, $n, $program);
    like($out =~ s/\s+/ /gr, qr/pairs of faults \(crash\): \Q$wanted\E .*?all there are/, "pairs in $program: $wanted") or diag($out);
}
for my $bad ('crash', 'crash:3', 'drop:2', 'melt:1') {
    is((run("prove --db none -n 3 --faults $bad ring.c"))[0], 2, "--faults $bad is refused");
}
done_testing();
