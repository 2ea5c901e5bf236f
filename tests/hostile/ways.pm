# The table of programs that misbehave (ways.tsv), and how one row of it is run and judged.
package ways;
use strict;
use warnings;
use Cwd qw(abs_path getcwd);
use File::Basename qw(dirname);

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $sources = dirname(abs_path(__FILE__));
our @executors = (['fibers'], ['OS threads', '--os-threads'], ['two cores', '--cores', 2]);
my $hang = 90; # seconds; no run takes so long

# The rows, each a hash; those of the sample only, or all.
sub rows {
    my ($all) = @_;
    open my $file, '<', "$sources/ways.tsv" or die "$sources/ways.tsv: $!";
    my @rows;
    while (<$file>) {
        chomp;
        next if /^#|^$/;
        my %row;
        @row{qw(source way moment code named sample)} = split /\t/;
        push @rows, \%row if $all || $row{sample};
    }
    return @rows;
}

sub slurp { open my $f, '<', shift or return ''; local $/; my $t = <$f>; return $t // '' }

# What simrun printed in this folder, and its exit status; 137: it did not end.
sub simrun {
    my $status = system('sh', '-c', "exec timeout -s KILL $hang \"\$0\" \"\$@\" >out 2>err </dev/null", $simrun, @_);
    return ($status >> 8 || ($status & 127 ? 128 + ($status & 127) : 0), slurp('out'));
}

sub runs_kept {
    my $count = `'$simrun' query --db runs.db "SELECT count(*) FROM runs" 2>/dev/null`;
    return $count =~ /^\s*(\d+)\s*$/m ? $1 : 0;
}

# A program that behaves, so that there is a run that may be lost.
sub begin { return (simrun(qw(--db runs.db -q -n 2), "$sources/misbehave.c", 'nothing', 'never', 0))[0] == 0 }

# One row on one executor, in this folder. (Whether all is as the table says, the cell to print, what to look at if not.)
sub judge {
    my ($row, $executor, $ranks) = @_;
    my ($named, @options) = @$executor;
    my $kept = runs_kept();
    my $code = $row->{code} eq '-' ? '' : $row->{code};
    my $slow = $code =~ /X003/;
    my ($status, $out) = simrun('--db', 'runs.db', '--timeout', $slow ? 2 : 30, '-n', $ranks, @options, "$sources/$row->{source}", $row->{way},
        ($row->{moment} ? $row->{moment} : ()), 1);
    my @codes = $out =~ /^([A-Z]\d{3}) /mg;
    my $whose = $row->{named} eq '?' || ($row->{named} eq 'fibers' && $named ne 'fibers');
    my $found = !$code ? $status == 0 && !@codes
        : ($status == ($code =~ /^L/ ? 0 : 1) || ($status == 124 && $slow)) # leaks are warnings
        && (grep { /^(?:$code)$/ } @codes) && ($whose || $out =~ /\brank\s+1\b/i)
        && ($row->{named} ne 'line' || $out =~ /^(?:$code) .*?\w\.cc?:\d+/ms);
    my $stored = runs_kept() == $kept + 1;
    my $cell = join ' ', ($status == 137 ? 'HANGS' : @codes ? join('+', @codes) : 'ends well'), "exit $status", $stored ? () : 'NOT STORED';
    return ($found && $stored, $cell, "status $status\n$out" . slurp('err'));
}

# After all: the first run can still be shown, and nobody is left behind.
sub whole { return system("'$simrun' show --db runs.db 1 >out 2>&1") == 0 }
sub left_behind {
    return grep { m{^\s*1 .*hostile/\w+\.cc?\b} } split /\n/, `ps -eo ppid,args 2>/dev/null`;
}
1;
