#!/usr/bin/perl
# The type and the length of a buffer are found however the program comes to it: fields of structures on the stack, on the heap and
# static, arrays of pointers, results of functions, parameters, void pointers, arrays whose length the run tells, structures with an
# open end, aligned and MPI's own allocations. Each way with its right call, a wrong datatype (M011) and too large a count (B006).
# Where the compiler keeps no trace of the type or the length, the coverage says so: nothing is passed over in silence. A sample; with the word
# all: all.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

$ENV{CC} = 'gcc'; # what a compiler keeps of a variable differs

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $text = do { local (@ARGV, $/) = (dirname(abs_path($0)) . '/reach.c'); <> };
my $folder = scratch_folder();
chdir $folder or die;

my $all = @ARGV && $ARGV[0] eq 'all';
my @ways = sort { $a <=> $b } $text =~ /^    case (\d+):/mg;
my %other = (double => 'long', int => 'float', float => 'int', long => 'double');
my %size = (double => 8, int => 4, float => 4, long => 8);
# Where it may be told instead of found: the way, and the level of optimisation from which on.
my %told = ('43 count' => 0, '45 type' => 0, map({ ("$_ type" => 1, "$_ count" => 1) } 22, 23, 24, 46), '35 type' => 2);
my %within = map { $_ => 1 } 10, 34, 48; # arrays within a structure: what follows is another number

for my $level ($all ? (0, 1, 2, 3) : (0, 2)) {
    for my $type ($all ? sort keys %other : 'double') {
        my $name = "reach$level$type.c";
        open my $out, '>', $name or die;
        print $out "/* simrun: cflags: -O$level -DT=$type */\n$text";
        close $out;
        for my $way (@ways) {
            next unless $all || ($way + $level) % 4 == 0 || $way == 33;
            my $n = $way == 47 ? 1 : 10;
            my @calls = (['right', $type, $n, ''], ['type', $other{$type}, $n, 'M011'],
                ['count', $type, $n + 1, $within{$way} ? 'M011' : 'B006']);
            push @calls, ['bytes', $type, $n * $size{$type}, 'B006'] if $all && !$within{$way};
            for my $call (@calls) {
                my ($what, $given, $count, $code) = @$call;
                my $said = `timeout 60 '$simrun' --db none -n 2 --memory $name $way $given $count 2>&1` =~ s/\s+/ /gr;
                my %codes = map { $_ => 1 } $said =~ / ([A-Z]\d{3}) [a-z]/g;
                my $told_of = $said =~ /not covered: .*(whose type no variable tells|nothing says where they end)/;
                delete @codes{qw(M008 M009 D001 D002 X001)} if $codes{B006} || $told_of; # the overrun's own consequences
                my $found = join ' ', sort keys %codes;
                my $from = $told{$what eq 'bytes' ? "$way count" : "$way $what"};
                if ($found eq '' && $code && defined $from && $level >= $from) {
                    ok($told_of, "-O$level, $type, way $way, $what: told");
                } else {
                    is($found, $code, "-O$level, $type, way $way, $what: " . ($code || 'right'));
                }
            }
        }
    }
}
done_testing;
