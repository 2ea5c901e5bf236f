#!/usr/bin/perl
# The catalogue's verdicts, asserted exactly; and the words of every finding and the hash of every trace, as tests/golden holds them:
#
#   tests/golden/findings/CODE.txt   what the code's findings say, in the first six scenarios that have them
#   tests/golden/catalogue.tsv       every run: its trace's hash, and a sum over all that its findings say
#
#   tests/cli/catalogue.t --update   takes today's as right (make golden): look at git's difference before you commit
#
# The order in which arguments are evaluated is the compiler's: hashes and sums are those of Debian 12's gcc.
use strict;
use warnings;
use Digest::MD5 qw(md5_hex);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);

my $simrun = $ENV{SIMRUN} || 'build/simrun';
my $update = ($ARGV[0] // '') eq '--update';
my $golden = 'tests/golden';
my $folder = scratch_folder();
local $| = 1;

sub read_lines { my ($path) = @_; open my $in, '<', $path or return (); my @lines = <$in>; return @lines }

# Parts run side by side and are told one after the other. CATALOGUE_PART=1/3: the first third of all, no more.
use constant SIDE_BY_SIDE => 2;
my ($mine, $of) = ($ENV{CATALOGUE_PART} // '1/1') =~ m{^(\d+)/(\d+)$} or die "CATALOGUE_PART is no '1/3'";
my @parts = map { ($mine - 1) * SIDE_BY_SIDE + $_ } 1 .. SIDE_BY_SIDE;
my ($count, $planned, $failed, @taps) = (0, 0, 0);
for my $part (@parts) {
    open my $tap, '-|', $simrun, 'catalogue', '--part', "$part/" . $of * SIDE_BY_SIDE, '--findings', "$folder/findings.$part" or die "$simrun: $!";
    push @taps, $tap;
}
for my $tap (@taps) {
    my ($before, $plan) = ($count);
    while (<$tap>) {
        next if /^TAP version/;
        if (/^1\.\.(\d+)/) { $plan = $1; next }
        if (s/^((?:not )?ok )(\d+)/$1 . ($count = $before + $2)/e) { $failed++ if /^not/ }
        print;
    }
    close $tap;
    $planned += $plan // die "a part of the catalogue said nothing\n";
}

my (%rows, @order, $row, %texts, %told, %cases);
for (map { read_lines("$folder/findings.$_") } @parts) {
    if (/^== (\S+)\t(\w+)$/) { push @order, $row = $1; $rows{$row} = { hash => $2, text => '' }; next }
    $rows{$row}{text} .= $_;
}
for my $row (@order) {
    my ($case) = $row =~ m{^([^/]+)/};
    my %in_this;
    for my $finding (split /^(?=[A-Z]\d{3} )/m, $rows{$row}{text}) {
        my ($code) = $finding =~ /^(\w+)/ or next;
        $in_this{$code} .= $finding;
    }
    for my $code (keys %in_this) {
        $texts{$code} .= "== $row\n$in_this{$code}" if !$told{"$case $code"}++ && ++$cases{$code} <= 6;
    }
}
# Servers without an order allocate as messages come: at which iteration a loop begins to be folded depends on where malloc puts things
# in a process that has run others before, and with it the clock's readings within the loop.
$_->{hash} = 'varies' for @rows{grep { /^server-convergence:(?:workers|staleness)\b/ } @order};
my $table = join '', map { "$_\t$rows{$_}{hash}\t" . md5_hex($rows{$_}{text}) . "\n" } sort @order;

if ($update) {
    die "what is right is taken from the whole catalogue\n" if $of > 1;
    mkdir "$golden/findings";
    unlink glob "$golden/findings/*.txt";
    for my $code (keys %texts) { open my $out, '>', "$golden/findings/$code.txt" or die; print $out $texts{$code} }
    open my $out, '>', "$golden/catalogue.tsv" or die;
    print $out $table;
    printf "# %d codes, %d runs written to %s\n", scalar keys %texts, scalar @order, $golden;
    exit;
}

sub ok {
    my ($name, $skip, @wrong) = @_;
    $count++;
    return print "ok $count - $name # SKIP $skip\n" if $skip;
    print "# $_\n" for @wrong > 20 ? (@wrong[0 .. 19], 'and ' . (@wrong - 20) . ' more') : @wrong;
    print "# if they are meant: make golden, and look at git's difference\n" if @wrong;
    print @wrong ? 'not ' : '', "ok $count - $name\n";
}
my $compiler = $ENV{CC} || 'gcc';
my $version = `$compiler --version 2>/dev/null` || '';
my $sanitized = $simrun =~ m{-address[^/]*/simrun$}; # other frames, and a scenario less
my $other = !$sanitized && $version =~ /^gcc .*\b12\./ && `uname -m` =~ /x86_64/ && !$ENV{SIMRUN_OTHER_SCHEDULE} ? '' : 'not by gcc 12 for x86-64';
$other = 'a part of the catalogue' if $of > 1;

my @wrong;
for my $code (sort keys %texts) {
    my @then = read_lines("$golden/findings/$code.txt");
    my @now = map { "$_\n" } split /\n/, $texts{$code};
    my ($line) = grep { ($then[$_] // '') ne ($now[$_] // '') } 0 .. ($#then > $#now ? $#then : $#now);
    next if !defined $line;
    push @wrong, sprintf('%s/findings/%s.txt:%d: %s', $golden, $code, $line + 1, $then[$line] // '(nothing)'), 'now: ' . ($now[$line] // '(nothing)');
}
chomp @wrong;
ok('findings say what they said', $other, @wrong);
my %codes = map { m{(\w+)\.txt$} ? ($1 => 1) : () } glob "$golden/findings/*.txt";
ok('no code has gone', $other, map { "no run has $_ any more" } grep { !$texts{$_} } sort keys %codes);
my %then = map { chomp; $_ => 1 } read_lines("$golden/catalogue.tsv");
my %now = map { $_ => 1 } split /\n/, $table;
ok('every run leaves the same trace and the same findings', $other,
    (map { "was: $_" } grep { !$now{$_} } sort keys %then), (map { "now: $_" } grep { !$then{$_} } sort keys %now));
printf "1..%d\n", $planned + 3; # a part that stopped early has planned more
exit($failed ? 1 : 0);
