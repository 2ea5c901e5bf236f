#!/usr/bin/perl
# run.pl [--every N] [--part K/N] [--keep FOLDER] [--view VIEW] [PATTERN]: programs with one error each and their right twins, judged by
# `simrun prove`.
# The wrong one must be FAIL (or, for a warning, keep its word) with one of its codes, no other finding, and a line that is marked; the
# right one must have no finding. TAP, and a table by family; ends with 1 where one differs. Through a view the verdicts are the same:
# the program has another communicator for its world, other ranks, a loop before it of which few iterations are recorded, or peers that
# have nothing to do with it.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use JSON::PP;
use lib dirname(abs_path($0));
use generate;

my %views = (
    dup => 'MPI_Comm_dup(MPI_COMM_WORLD, &view_world);',
    mirror => 'MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &view_world);',
    behind => 'for (int i = 0; i < 400; i++) MPI_Sendrecv(&i, 1, MPI_INT, 0, 0, &rank, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &view_world);',
    half => 'MPI_Comm_split(MPI_COMM_WORLD, rank < size / 2, 0, &view_world);
    if (rank >= size / 2) exit(view_end());',
);
my ($every, $part, $of, $keep, $jobs, $view) = (1, 0, 1, '', $ENV{WRONG_JOBS} || 1, '');
while (@ARGV && $ARGV[0] =~ /^--/) {
    my $option = shift;
    $every = shift if $option eq '--every';
    $keep = shift if $option eq '--keep';
    $view = shift if $option eq '--view';
    ($part, $of) = split m{/}, shift if $option eq '--part';
}
my $pattern = shift // '';
$ENV{CC} = 'gcc'; # clang leaves out elements of arrays on the stack (tests/memory/memory.t)
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $here = dirname(abs_path($0));
for my $family (sort glob "'$here'/*.pl") {
    next if $family =~ /run\.pl$/;
    do $family or die "$family: " . ($@ || $!);
}
my @cases = cases();
my %seen;
$seen{$_->{name}}++ and die "two cases are called $_->{name}" for @cases;
@cases = grep { $_->{name} =~ /$pattern/ } @cases;
@cases = @cases[grep { $_ % $every == 0 && $_ % $of == $part } 0 .. $#cases];
my $folder = $keep || tempdir(CLEANUP => 1);
mkdir $folder;
chdir $folder or die "$folder: $!";

!$view || $views{$view} or die "--view $view: there are " . join(', ', sort keys %views);
spew('view.h', <<"END") if $view;
#include <mpi.h>
#include <stdlib.h>
static MPI_Comm view_world;
static int view_end(void)
{
    MPI_Comm_free(&view_world);
    return MPI_Finalize();
}
static int view_begin(void)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    $views{$view}
    return 0;
}
#define MPI_Init(count, words) (MPI_Init(count, words), view_begin())
#define MPI_Init_thread(count, words, wanted, level) (MPI_Init_thread(count, words, wanted, level), view_begin())
#define MPI_Finalize() view_end()
#undef MPI_COMM_WORLD
#define MPI_COMM_WORLD view_world
END

sub spew { my ($name, $text) = @_; open my $f, '>', $name or die "$name: $!"; print $f $text; close $f }

# What is wrong with the verdict on one program, '' where nothing is.
sub judge {
    my ($case, $twin) = @_;
    my $file = "$case->{name}-$twin.c";
    spew($file, $case->{$twin} . ($view ? "/* simrun: cflags: -include view.h */\n" : ''));
    my $ranks = $case->{ranks} * ($view eq 'half' ? 2 : 1);
    my $out = `timeout 100 '$simrun' prove --db none --json -n $ranks $file 2>$file.err </dev/null`;
    spew("$file.json", $out);
    my ($line) = grep { /^\{"scenario"/ } split /\n/, $out;
    my $verdict = $line ? eval { decode_json($line) } : undef;
    return "no verdict" unless $verdict;
    my @found = grep { $_->{severity} ne 'note' } @{$verdict->{findings}};
    my @notes = grep { $_->{severity} eq 'note' && $_->{code} =~ /^L/ } @{$verdict->{findings}};
    my $told = join ', ', map { "$_->{code} at " . join('/', lines_of($_)) . " ($_->{title})" } @found, @notes;
    if ($twin eq 'right') {
        return @found || $verdict->{verdict} !~ /^(PROVEN|PASS)$/ ? "$verdict->{verdict}: $told" : '';
    }
    my @wanted = split /\|/, $case->{codes};
    my ($hit, @more);
    for my $finding (@found, @notes) {
        if (!$hit && grep { $_ eq $finding->{code} } @wanted) { $hit = $finding }
        elsif ($hit && $hit->{code} eq $finding->{code} && is_marked($case, $finding)) { next } # it is made at two places
        elsif ($finding->{severity} eq 'error') { push @more, $finding->{code} }
        elsif ($finding->{severity} ne 'note' && $finding->{code} ne 'R003') { push @more, $finding->{code} }
    }
    return "missed $case->{codes}: $verdict->{verdict} $told" unless $hit;
    my %named = map { $_ => 1 } lines_of($hit);
    return "line " . join('/', @{$case->{lines}}) . " is not named: $told" if @{$case->{lines}} && !grep { $named{$_} } @{$case->{lines}};
    return "more than one: $told" if @more;
    return '';
}

sub is_marked {
    my ($case, $finding) = @_;
    my %marked = map { $_ => 1 } @{$case->{lines}};
    return scalar grep { $marked{$_} } lines_of($finding);
}

sub lines_of {
    my ($finding) = @_;
    my %lines = map { $_->{line} => 1 } grep { $_->{line} } $finding, @{$finding->{places} || []};
    return sort { $a <=> $b } keys %lines;
}

my @pipes;
for my $job (0 .. $jobs - 1) {
    pipe my $reader, my $writer or die;
    my $child = fork // die;
    if (!$child) {
        close $reader;
        for my $number (grep { $_ % $jobs == $job } 0 .. $#cases) {
            print $writer "$number\t$_\t" . (judge($cases[$number], $_) =~ s/\s+/ /gr) . "\n" for 'wrong', 'right';
        }
        close $writer;
        require POSIX;
        POSIX::_exit(0);
    }
    close $writer;
    push @pipes, $reader;
}
my %result;
for my $reader (@pipes) {
    while (<$reader>) {
        chomp;
        my ($number, $twin, $what) = split /\t/, $_, 3;
        $result{$number}{$twin} = $what;
    }
}
1 while wait() != -1;
printf "1..%d\n", 2 * @cases;
my (%table, $bad, $test);
for my $number (0 .. $#cases) {
    my $name = $cases[$number]{name};
    my ($family) = $name =~ /^([a-z]+-?[a-z]*)/;
    for my $twin ('wrong', 'right') {
        my $what = $result{$number}{$twin} // 'not run';
        $table{$family}{$twin}++;
        printf "%s %d - %s, %s\n", $what eq '' ? 'ok' : 'not ok', ++$test, $name, $twin;
        next if $what eq '';
        $table{$family}{"$twin-bad"}++;
        $bad++;
        print "# $what\n";
    }
}
printf "# %-24s %6s %8s %6s %8s\n", 'family', 'wrong', 'differ', 'right', 'differ';
printf "# %-24s %6d %8d %6d %8d\n", $_, $table{$_}{wrong}, $table{$_}{'wrong-bad'} // 0, $table{$_}{right}, $table{$_}{'right-bad'} // 0
    for sort keys %table;
printf "# %d programs, %d differ\n", 2 * @cases, $bad // 0;
exit($bad ? 1 : 0);
