#!/usr/bin/perl
# The time that is printed is the time a person waited: never more than a clock beside it says, and never far less; its parts add
# up to it and name what it went to.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use JSON::PP;
use Test::More;
use Time::HiRes qw(time);

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = scratch_folder();
chdir $folder or die;

my $waited;
sub run {
    my $begin = time;
    my $said  = `'$simrun' @_ 2>/dev/null`;
    $waited = time - $begin;
    return $said;
}
sub printed { # of all verdicts together, in seconds
    my $sum = 0;
    $sum += $2 eq 's' ? $1 : $1 / 1e3 while $_[0] =~ /^(?:PASS|PROVEN|FAIL) [^(]*\(([\d.]+) (m?s)\)/mg;
    return $sum;
}
sub source {
    my ($name, $body) = @_;
    open my $file, '>', $name or die;
    print $file "#include <mpi.h>\nint main(int argc, char **argv) { MPI_Init(&argc, &argv); int rank, size;\n",
        "MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);\n$body\nMPI_Finalize(); return 0; }\n";
}

# A long time where one part rules: that part is named first or alone.
source('computes.c', 'for (double begin = MPI_Wtime(); rank == 0 && MPI_Wtime() - begin < 1.2;) {} MPI_Barrier(MPI_COMM_WORLD);');
my $said = run(qw(--db none -n 2 computes.c));
my ($seconds) = $said =~ /^PASS computes.c, 2 ranks: [^(]*\(([\d.]+) s\)$/m;
cmp_ok($seconds // 0, '>=', 1.2, 'a run of more than a second is told in seconds');
cmp_ok($seconds // 1e9, '<=', $waited + 0.05, '... no more than a clock beside it says');
like($said, qr/^  time    .*\brun [\d.]+ s/m, '... and the line below says that the run took it');

# Who asks a clock between its polls waits for time, whatever clock that is; who asked it once does not.
open my $deadline, '>', 'deadline.c' or die;
print $deadline <<'END';
#include <mpi.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
static double by(const char *name)
{
    struct timespec now = {0};
    struct timeval value;
    if (!strcmp(name, "clock_gettime"))
        clock_gettime(CLOCK_MONOTONIC, &now);
    else if (!strcmp(name, "timespec_get"))
        timespec_get(&now, TIME_UTC);
    else if (!strcmp(name, "gettimeofday"))
        return gettimeofday(&value, 0), (double)value.tv_sec + (double)value.tv_usec * 1e-6;
    else if (!strcmp(name, "time"))
        return (double)time(0);
    else
        return (double)clock() / CLOCKS_PER_SEC;
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int flag;
    double begin = by(argv[1]), end = strcmp(argv[1], "time") ? 0.2 : 1;
    do
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    while ((argc > 2 ? begin : by(argv[1])) - begin < end);
    MPI_Finalize();
    return 0;
}
END
close $deadline;
for my $clock (qw(time gettimeofday clock_gettime timespec_get clock)) {
    like(run(qw(--db none -n 2 deadline.c), $clock), qr/^PASS/m, "polls until some time has passed by $clock are no livelock");
}
like(run(qw(--db none -n 2 deadline.c time once)), qr/^D005/m, 'polls that asked a clock before them only are one');

# Compiling, storing and several numbers of ranks belong to it.
source('sends.c', <<'END');
int value = 1; unsigned step = 7;
for (int i = 0; i < 20000; i++) { step = step * 1664525u + 1013904223u; int tag = step >> 22;
  MPI_Sendrecv_replace(&value, 1, MPI_INT, (rank + 1) % size, tag, (rank + size - 1) % size, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
END
for my $words ('--db none -n 2..4 sends.c', '--db kept.db -n 3 sends.c', '--db none --send all -n 2 sends.c', 'prove --db kept.db -n 2..3 sends.c') {
    my $sum = printed(run($words));
    cmp_ok($sum, '<=', $waited * 1.01 + 0.05, "$words: no more than a clock beside it says");
    cmp_ok($sum, '>=', $waited / 3, '... and most of that');
}

# The parts.
my $result = decode_json(run(qw(--json --db kept.db -n 3 sends.c)));
my $sum = 0;
$sum += $_ for values %{$result->{spent}};
ok(abs($sum - $result->{seconds}) <= 1e-4, 'the parts add up to the whole') or diag("$sum of $result->{seconds}");
cmp_ok($result->{spent}{$_} // 0, '>', 0, "... $_ is one of them") for qw(compiling run trace checks storing);
my $free = decode_json(run(qw(--json --db none -n 3 sends.c)));
cmp_ok($free->{spent}{storing} // 0, '<', $result->{spent}{storing} / 10, '... and storing none without a database');
my $checked = decode_json(run(qw(--json --db none -n 3 --check-elements 3 ring)));
cmp_ok($checked->{spent}{gradients}, '>', 0, 'gradients have a part of their own');

# A restart: what the attempts before took is waited for, too.
source('fails.c', 'if (!rank && !getenv("DONE")) { for (double begin = MPI_Wtime(); MPI_Wtime() - begin < 0.3;) {} if (atoi(getenv("SIMRUN_RESTART_COUNT")) < 2) MPI_Abort(MPI_COMM_WORLD, 3); } MPI_Barrier(MPI_COMM_WORLD);');
`sed -i '1i#include <stdlib.h>' fails.c`;
my $again = decode_json(run(qw(--json --db none --max-restarts 2 -n 2 fails.c)));
cmp_ok($again->{spent}{'other runs'} // 0, '>=', 0.3, 'attempts before a restart are counted as other runs');
cmp_ok($again->{seconds}, '<=', $waited, '... once');
done_testing;
