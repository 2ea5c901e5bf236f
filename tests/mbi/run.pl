#!/usr/bin/perl
# run.pl [--jobs N] SIMRUN FOLDER [PATTERN]...: runs the programs of the MPI Bugs Initiative (fetch.sh), whose heads say what is wrong with each,
# if anything, and compares. Of a program that is right nothing may be found; of another one, a finding that tells of its kind of error.
# What differs stands in reasons.tsv with the sentence of the standard, or is told. Exit status 1 where a difference has no reason, or a reason no
# difference.
#
# A pattern is a regular expression on names: "RMA", "MessageRace". Without one: all, some 1,800.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(basename dirname);
use File::Path qw(make_path);
use Getopt::Long qw(GetOptions);
use IO::Handle;
use JSON::PP qw(decode_json);
use POSIX qw(WNOHANG);

# What may be found where a program has an error of this kind. A message race is a warning: the program is right if its results are.
my %tells = (
    CallMatching => qr/^(D00[1-5]|M001|M006|M010|L002)$/,
    CommunicatorMatching => qr/^(D00[1-5]|M006|M001)$/,
    DatatypeMatching => qr/^M00[458]$/,
    OperatorMatching => qr/^M003$/,
    RootMatching => qr/^(M002|D00[1-5])$/,
    TagMatching => qr/^(D00[1-5]|M01\d)$/,
    InvalidBuffer => qr/^M009$/,
    InvalidCommunicator => qr/^M009$/,
    InvalidDatatype => qr/^(M009|M004)$/,
    InvalidOperator => qr/^(M009|M003)$/,
    InvalidOtherArg => qr/^M009$/,
    InvalidRoot => qr/^(M009|M002)$/,
    InvalidSrcDest => qr/^M009$/,
    InvalidTag => qr/^M009$/,
    LocalConcurrency => qr/^B00\d$/,
    GlobalConcurrency => qr/^B00\d$/,
    MessageRace => qr/^(R003|D00[1-5])$/,
    MissingWait => qr/^(L00\d|B00[45]|X006)$/,
    MissingStart => qr/^(L00\d|B00[45]|D00[1-5])$/,
    map { $_ . 'Leak' => qr/^L00\d$/ } qw(Communicator Group Operator Request Type),
);

my $jobs = 2;
GetOptions('jobs=i' => \$jobs) && @ARGV >= 2 && $jobs > 0 or die "usage: run.pl [--jobs N] SIMRUN FOLDER [PATTERN]...\n";
my ($simrun, $root, @patterns) = @ARGV;
my $here = abs_path(dirname($0));
$simrun = abs_path($simrun);
system('sh', "$here/fetch.sh", $root) == 0 or die "the programs were not fetched\n";
$root = abs_path($root);
$ENV{SIMRUN_CACHE} = "$root/cache";

my @reasons;
open my $file, '<', "$here/reasons.tsv" or die "reasons.tsv: $!\n";
while (<$file>) {
    chomp;
    push @reasons, [split /\t/] unless /^#/;
}
close $file;

# What the head says: ranks, and OK or the kind of error.
sub expected {
    my ($path) = @_;
    open my $in, '<', $path or die "$path: $!\n";
    local $/;
    my $text = <$in>;
    my ($ranks, $outcome) = $text =~ /mpirun -np (\d+) \$\{EXE\}\s*\n\s*\|\s*(OK|ERROR: \w+)/ or die "$path: no head\n";
    return ($ranks, $outcome eq 'OK' ? 'OK' : $outcome =~ s/ERROR: //r);
}

# The codes of what is found: errors and warnings, what follows from them, too.
sub found {
    my ($path, $ranks) = @_;
    my $memory = $path =~ /Concurrency/ ? '--memory' : ''; # loads and stores beside operations
    my $said = qx{timeout -k 5 120 nice '$simrun' --db none $memory --json --timeout 60 -n $ranks '$path' 2>/dev/null </dev/null};
    my $result = eval { decode_json($said) } or return ('NOTHING', 'nothing was said');
    my %codes = map { $_->{code} => 1 } grep { $_->{severity} ne 'note' } @{ $result->{findings} };
    return ($result->{verdict}, join ' ', sort keys %codes);
}

sub agrees {
    my ($kind, $verdict, $codes) = @_;
    return $verdict eq 'PASS' && $codes eq '' if $kind eq 'OK';
    return scalar grep { $_ =~ ($tells{$kind} // qr/^$/) } split ' ', $codes;
}

sub reason_of {
    my ($name, $verdict, $codes) = @_;
    for my $reason (@reasons) {
        return $reason if $name =~ /^(?:$reason->[0])$/ && "$verdict $codes" =~ /^(?:$reason->[1])\s*$/;
    }
    return;
}

my @names = map { basename($_, '.c') } sort glob "'$root/programs/'*.c";
@names = grep { my $name = $_; grep { $name =~ /$_/ } @patterns } @names if @patterns;
@names or die "no program has such a name\n";

# Each job takes every n-th program, and writes a row for each.
make_path("$root/results");
my @children;
for my $job (0 .. $jobs - 1) {
    my $child = fork // die "fork: $!\n";
    if ($child) { push @children, $child; next }
    open my $out, '>', "$root/results/$job" or die "$root/results/$job: $!\n";
    $out->autoflush;
    for (my $i = $job; $i < @names; $i += $jobs) {
        my ($ranks, $kind) = expected("$root/programs/$names[$i].c");
        print {$out} join("\t", $names[$i], $kind, found("$root/programs/$names[$i].c", $ranks)), "\n";
    }
    close $out or die "$root/results/$job: $!\n";
    exit 0;
}
# Where somebody looks, how far it is.
sub progress {
    my $done = 0;
    for my $job (0 .. $jobs - 1) {
        open my $in, '<', "$root/results/$job" or next;
        $done++ while <$in>;
    }
    printf STDERR "\r%d of %d programs ", $done, scalar @names if -t STDERR;
}
my $failed = 0;
while (@children) {
    my $over = waitpid -1, WNOHANG;
    progress();
    if ($over > 0) {
        $failed ||= $?;
        @children = grep { $_ != $over } @children;
    } else {
        sleep 1;
    }
}
print STDERR "\n" if -t STDERR;
die "a job ended early\n" if $failed;

my (@rows, %count, %used);
for my $job (0 .. $jobs - 1) {
    open my $in, '<', "$root/results/$job" or die "$root/results/$job: $!\n";
    push @rows, map { chomp; [split /\t/, $_, -1] } <$in>;
}
@rows == @names or die scalar(@rows) . " of " . scalar(@names) . " programs were run\n";
for my $row (sort { $a->[0] cmp $b->[0] } @rows) {
    my ($name, $kind, $verdict, $codes) = @$row;
    if (agrees($kind, $verdict, $codes)) {
        $count{$kind}[0]++;
        next;
    }
    my $reason = reason_of($name, $verdict, $codes);
    $count{$kind}[$reason ? 1 : 2]++;
    if ($reason) { $used{"@$reason"}++ }
    else { print "differs\t$name\texpected $kind\t$verdict $codes\n" }
}
printf "%-22s %8s %8s %8s\n", 'kind of error', 'agrees', 'reason', 'differs';
my @sum = (0, 0, 0);
for my $kind (sort keys %count) {
    my @n = map { $count{$kind}[$_] // 0 } 0 .. 2;
    printf "%-22s %8d %8d %8d\n", $kind, @n;
    $sum[$_] += $n[$_] for 0 .. 2;
}
printf "%-22s %8d %8d %8d\n", 'all', @sum;
my @unused = @patterns ? () : grep { !$used{"@$_"} } @reasons;
print "no program differs for this reason: $_->[0] $_->[1]\n" for @unused;
exit($sum[2] || @unused ? 1 : 0);
