#!/usr/bin/perl
# What only a terminal sees: colours, its width, and how far a long step is.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = scratch_folder();
chdir $folder or die;
$ENV{SIMRUN_CACHE} = "$folder/cache";
$ENV{SIMRUN} = $simrun;
delete $ENV{NO_COLOR};
plan skip_all => 'script(1) is not installed' if system('script -qec true /dev/null >/dev/null 2>&1');

sub terminal { # what a terminal of so many columns shows for a command
    my ($columns, $command) = @_;
    return shown(begun($columns, $command));
}

sub begun { # the same, not waited for
    my ($columns, $command) = @_;
    open my $out, '-|', "script -qec 'stty cols $columns rows 40; \"\$SIMRUN\" $command' /dev/null </dev/null" or die;
    return $out;
}

sub shown {
    my ($out) = @_;
    local $/;
    return scalar <$out> // '';
}

open my $file, '>', 'endless.c' or die;
print $file "#include <mpi.h>\nint main(int argc, char **argv)\n{\n    MPI_Init(&argc, &argv);\n    for (volatile int i = 0;; i++)\n        ;\n}\n";
close $file;

$ENV{TERM} = 'xterm';
my $shown;
for (1 .. 20) { # quick it is on a busy machine, too, one time or another
    $shown = terminal(80, '--db none -n 4 ring');
    last if $shown !~ /\e\[K/;
}
like($shown, qr/^\e\[1;32mPASS\e\[0m ring, 4 ranks/, 'colours on a terminal');
unlike($shown, qr/\e\[K/, 'what is quick shows no progress');
for my $columns (60, 80, 120) {
    my @wide = grep { length > $columns && !/^  (replay|draw|command) / } split /\r?\n/, terminal($columns, '--db none -n 4 --color never two-comms');
    is(join("\n", @wide), '', "lines fit $columns columns");
}
my $limit; # one that is long enough here and now
for (1.5, 6, 24, 96) {
    $limit = $_;
    $shown = terminal(80, "--db none -n 2 --timeout $limit ./endless.c");
    last if $shown =~ /running/;
}
like($shown, qr/\rrunning \d+ s, [0-9.]+ ?[kM]? bytes recorded, \S+ ?[kM]?\/s\e\[K\r/, 'a long run says how far it is');
like($shown, qr/\r\e\[K\e\[1;31mTIMEOUT/, 'in a line that is gone when it is over');
for ($limit, 4 * $limit, 16 * $limit) {
    $shown = terminal(80, "--db none -n 2,3 --timeout $_ ./endless.c");
    last if $shown =~ /run 2 of 2/;
}
like($shown, qr/\rrun 2 of 2: running \d+ s/, 'and which of several');
my $quiet = begun(80, "-q --db none -n 2 --timeout $limit ./endless.c");
open my $pipe, '-|', "'$simrun' --db none -n 2 --timeout $limit ./endless.c 2>&1" or die;
{
    local $ENV{TERM} = 'dumb';
    my $dumb = begun(80, "--db none -n 2 --timeout $limit ./endless.c");
    unlike(shown($quiet), qr/running/, 'unless it is to be quiet');
    unlike(shown($pipe), qr/running|\r/, 'nothing of it in a pipe');
    unlike(shown($dumb), qr/\e|\r(?!\n)/, 'a dumb terminal gets plain lines');
    like(terminal(80, '--db none -n 4 --color always ring'), qr/^\e\[1;32mPASS/, 'unless colours are asked for');
}
terminal(80, '--db t.db -n 2 ring');
like(terminal(80, 'query --db t.db "select * from v_runs"'), qr/^-- row 1\r\nrun_id\s+1\r\nscenario\s+ring\r$/m, 'a table too wide is told row by row');
like(terminal(80, 'query --db t.db "select run_id, scenario from v_runs"'), qr/^run_id  scenario\r\n\s+1  ring\r$/m, 'another is a table');
like(scalar `'$simrun' query --db t.db 'select * from v_runs'`, qr/^run_id  scenario .*\n\s+1  ring /m, 'as each is in a pipe');
done_testing();
