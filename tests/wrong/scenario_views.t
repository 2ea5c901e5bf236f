#!/usr/bin/perl
# The scenarios of the catalogue in a world that is another one and means the same: a duplicate, and one behind 100 iterations of a loop.
# Their verdicts are those of the catalogue. Where messages race (R003), who comes first may be another one there, so that the other codes
# may be others. A sample of the scenarios; with ALL=1 all of them.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(basename dirname);
use FindBin;
use lib "$FindBin::Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} // 'build/simrun');
my $build = dirname($simrun);
my $folder = scratch_folder();
my %views = (
    dup => 'MPI_Comm_dup(MPI_COMM_WORLD, &view_world);',
    behind => 'MPI_Comm_dup(MPI_COMM_WORLD, &view_world);
    for (int i = 0, one = 1, sum; i < 100; i++) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Sendrecv(&one, 1, MPI_INT, (rank + 1) % size, 0, &sum, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }');

sub spew { my ($name, $text) = @_; open my $out, '>', $name or die "$name: $!"; print $out $text; close $out or die "$name: $!" }
sub slurp { my ($name) = @_; local (@ARGV, $/) = $name; return scalar <> }

my @names = map { basename($_, '.c') } sort glob 'scenarios/*.c';
my $turn = 0; # one of forty
for my $view (sort keys %views) {
    my $root = "$folder/$view";
    mkdir $_ or die "$_: $!" for $root, "$root/build", "$root/scenarios";
    system('cp', $simrun, "$root/build/simrun") == 0 or die;
    for my $part (qw(lib include)) { # of variants, headers are beside the variant
        my ($there) = grep { -e } "$build/$part", "$build/../$part";
        symlink(abs_path($there), "$root/build/$part") or die "$part: $!";
    }
    spew("$root/view.h", <<"END");
#include <mpi.h>
static MPI_Comm view_world;
__attribute__((unused)) static int view_end(void)
{
    MPI_Comm_free(&view_world);
    return MPI_Finalize();
}
__attribute__((unused)) static int view_begin(void)
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
    my %some = map { $_ => 1 } $ENV{ALL} ? @names : grep { $turn++ % 40 == 11 } @names, '';
    for my $file (glob 'scenarios/*') {
        my $source = $file =~ /\.c$/;
        next if $source && !$some{ basename($file, '.c') };
        spew("$root/$file", slurp($file) . ($source ? "/* simrun: cflags: -include view.h */\n" : ''));
    }
    my $said = qx{cd '$root' && build/simrun catalogue 2>&1};
    my $rows = () = $said =~ /^ok/mg;
    my @wrong;
    while ($said =~ /^not ok \d+ - (\S+): (.*)\n.*\n.*\n\s+got: '(.*)'/mg) {
        push @wrong, "$1: $2 in the catalogue, $3 here" unless "$2 $3" =~ /R003/;
    }
    is join("\n", @wrong), '', "$view: no verdict differs";
    cmp_ok $rows, '>', scalar keys %some, "$view: $rows rows were asked";
}
done_testing;
