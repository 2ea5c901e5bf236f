#!/usr/bin/perl
# Every function of the standard that there is, called right and with one wrong argument at a time: a right call is silent; a wrong one is
# refused in the function's own name, at the call's own line, with a class of error that the standard allows; nothing crashes. A sample;
# FULL=1 (make functions) runs all of them: recorded, with findings alone recorded, and on threads of the system.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Copy qw(copy);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

$ENV{CC} = 'gcc';    # clang folds calls that differ in nothing but constants into one, at one line
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = scratch_folder();
system("perl tests/mpi/functions/generate.pl sim/mpi.h >$folder/calls.c") == 0 or die "the program was not generated\n";
copy('tests/mpi/functions/setting.h', $folder) or die;
chdir $folder or die;
sub output { my $command = shift; my $text = `COLUMNS=1000 timeout 100 '$simrun' --db none $command 2>&1 </dev/null`; return ($? >> 8, $text) }

my (undef, $list) = output('-n 1 ./calls.c list');
my @rows = map { [split] } $list =~ /^(\d+ [A-Z]\S* \S+ \S+ \d+)$/mg;
cmp_ok(scalar @rows, '>', 3500, 'the program lists its calls');
my %supported = map { $_->[1] => 1 } @rows;
my @ways = $ENV{FULL} ? ('', '--record findings', '--os-threads') : ('', '--os-threads');
# On threads a fault within the machine stands where others wait: what polls write to is looked at before.
my $polls = qr/^(Test|Waitsome|Request_get_status)/;
for my $way (@ways) {
    my $wrong = 0;
    for my $row (@rows) {
        my ($number, $function, $what, $classes, $line) = @$row;
        next if !$supported{$function} || !($ENV{FULL} || ($way ? $function =~ $polls && $what =~ /null/ : $number % 73 == 0));
        my ($status, $text) = output("$way -n 2 ./calls.c $number");
        my @codes = $text =~ /^([A-Z]\d{3}) /mg;
        if ("@codes" eq 'U001') { # there is none here, which is said
            delete $supported{$function};
            next;
        }
        my $right = $classes eq '-' ? $status == 0 && !@codes
            : $status == 1 && "@codes" =~ /^(M009|X005)$/ && $text =~ /MPI_$function: MPI_ERR_($classes):/ && $text =~ /calls\.c:$line\b/;
        next if $right;
        $wrong++;
        fail("$way MPI_$function, $what: expected $classes at line $line");
        diag("exit status $status\n", $text);
    }
    is($wrong, 0, ($way || 'recorded') . ': every call is judged');
}
done_testing;
