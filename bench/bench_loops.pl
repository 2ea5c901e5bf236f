#!/usr/bin/perl
# make bench: what the record and the checks cost a long loop of 4 ranks, CPU time against --record none in turn, the best of five; and
# one run with everything, as it grows: time, peak memory, what the database takes. There all operations are kept, whatever memory is
# free. bench_loops.pl BUILD [LONGEST]
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);

my ($build, $longest) = (abs_path(shift // 'build'), shift // 10_000_000);
my $program = dirname(abs_path($0)) . '/loops.c';
my $folder = tempdir(CLEANUP => 1);
my %getrusage = (x86_64 => 98, aarch64 => 165);
my $number = $getrusage{(split ' ', `uname -m`)[0]};

# Seconds of CPU, seconds of wall time, and MiB at the peak, of one run.
sub run {
    my ($pattern, $steps, @options) = @_;
    open my $told, '-|', $^X, '-e', <<'END', $number // 0, "$build/simrun", 'run', @options, '-n', 4, $program, $pattern, $steps or die;
        use Time::HiRes qw(time);
        my ($number, @command) = @ARGV;
        open my $out, '>&', \*STDOUT;
        open STDOUT, '>', '/dev/null';
        my $begin = time;
        system(@command) and die "@command failed\n";
        my $usage = "\0" x 256;
        syscall($number, -1, $usage) if $number;
        my ($user, $user_micro, $kernel, $kernel_micro, $kilobytes) = unpack 'q5', $usage;
        print $out join(' ', $user + $kernel + ($user_micro + $kernel_micro) / 1e6, time - $begin, $kilobytes / 1024), "\n";
END
    my @told = split ' ', scalar <$told>;
    close $told or die "$pattern: the run failed\n";
    return @told;
}

sub best {
    my ($pattern, $steps) = @_;
    my (@plain, @recorded);
    for (1 .. 5) {
        push @plain, (run($pattern, $steps, '--record', 'none', '--db', 'none'))[0];
        push @recorded, (run($pattern, $steps, '--db', 'none'))[0];
    }
    return map { (sort { $a <=> $b } @$_)[0] } \@plain, \@recorded;
}

sub grouped { my $text = reverse shift; $text =~ s/(\d{3})(?=\d)/$1,/g; return scalar reverse $text }

print "\na loop of 4 ranks, recorded and checked, against --record none:\n";
for (['sendrecv', 4_000_000], ['halo', 1_000_000], ['allreduce', 4_000_000]) {
    my ($pattern, $steps) = @$_;
    my ($plain, $recorded) = best($pattern, $steps);
    printf "  %-10s %10s steps: %6.2f s, recorded %6.2f s: %.1f times\n", $pattern, grouped($steps), $plain, $recorded, $recorded / $plain;
}
print "recorded, checked and stored:\n";
for (['sendrecv', 10_000], ['sendrecv', 1_000_000], ['sendrecv', $longest], ['irregular', 100_000], ['irregular', 1_000_000]) {
    my ($pattern, $steps) = @$_;
    my $database = "$folder/$pattern-$steps.db";
    my ($plain) = run($pattern, $steps, '--record', 'none', '--db', 'none');
    my ($cpu, $wall, $peak) = run($pattern, $steps, '--record-limit', '64G', '--db', $database);
    printf "  %-10s %10s steps, %11s operations: %6.1f s, %5.1f times the CPU time of --record none, %5.0f MiB at the peak, database %.1f MB\n",
        $pattern, grouped($steps), grouped(12 * $steps), $wall, $cpu / $plain, $peak, (-s $database) / 1e6;
}
