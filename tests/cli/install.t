#!/usr/bin/perl
# What make install leaves is a working tree: a stranger's program builds against it and runs.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

plan skip_all => 'the plain build is what gets installed' if ($ENV{BUILD} || 'build') ne 'build';
my $folder = tempdir(CLEANUP => 1);
delete @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS)};
is(system("make -s install DESTDIR='$folder' PREFIX=/opt/simrun >'$folder/log' 2>&1"), 0, 'make install') or diag `cat '$folder/log'`;
is(system("make -s install DESTDIR='$folder/a b' PREFIX='/c, d (ü) & [e]' >'$folder/log' 2>&1"), 0, 'also into a folder with blanks, commas, brackets')
    or diag `cat '$folder/log'`;
{
    my $odd = "$folder/a b/c, d (ü) & [e]/bin";
    local $ENV{PATH} = "$odd:$ENV{PATH}";
    open my $file, '>', "$folder/a b/odd.c" or die;
    print $file "#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); MPI_Barrier(MPI_COMM_WORLD); return MPI_Finalize(); }\n";
    close $file;
    like(scalar `cd '$folder/a b'; simrun -n 2 --db none ring 2>&1`, qr/^PASS ring/, 'where it runs');
    like(scalar `cd '$folder/a b'; simrun -n 2 --db none $_ ./odd.c 2>&1`, qr/^PASS \S+odd.c/, "a source $_") for '', '--memory';
    like(scalar `cd '$folder/a b'; $_ -o made odd.c 2>&1 && simrun -n 2 --db none ./made 2>&1`, qr/^PASS \S+made/, "$_ builds a program")
        for 'simcc', 'SIMCC_MEMORY=1 simcc', 'simcc -pie';
    like(scalar `cd '$folder/a b'; simcc -c odd.c && eval cc -pie odd.o -o made "\$(simcc -showme:link)" 2>&1 && simrun -n 2 --db none ./made 2>&1`,
        qr/^PASS \S+made/, 'what it says of links links');
}
my $root = "$folder/opt/simrun";
chdir $folder or die;
$ENV{SIMRUN_CACHE} = "$folder/cache";
$ENV{PATH} = "$root/bin:$ENV{PATH}";

like(scalar `simrun -n 4 --db none ring 2>&1`, qr/^PASS ring, 4 ranks/, 'the catalogue is found and runs');
my $passed = () = `simrun catalogue ring 2>&1` =~ /^ok /mg;
cmp_ok($passed, '>', 3, 'and asserts its verdicts');
like(scalar `simrun -n 2 --db none op-bcast 2>&1`, qr/^PASS op-bcast, 2 ranks/, 'also scenarios that share a header');
like(scalar `simrun doctor 2>&1`, qr/compil/, 'doctor');
ok(-s "$root/share/man/man1/simrun.1" && -s "$root/share/man/man5/simrun-db.5", 'man pages');
is(system("bash -n '$root/share/bash-completion/completions/simrun'"), 0, 'completion');

open my $file, '>', 'mean.c' or die;
print $file <<'END';
#include <diff.h>
#include <mpi.h>
#include <mpix.h>
#include <stdio.h>

static __thread int calls;

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double value = rank;
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){1}, &value);
    diff_backward(diff_sum(diff_allreduce(x, MPI_SUM, MPI_COMM_WORLD)));
    diff_tape_free(tape);
    SIM_Metric("calls", 0, ++calls);
    if (rank == 0)
        printf("%d of %d\n", calls, size);
    MPI_Finalize();
    return 0;
}
END
close $file;
is(system('simcc -Wall -Werror -o by-simcc mean.c 2>err'), 0, 'simcc builds a program') or diag `cat err`;
my $said = `simrun -n 3 ./by-simcc 2>&1`;
like($said, qr/^1 of 3$/m, 'it runs');
like($said, qr/^PASS .*\d+ of \d+ gradients right/m, 'its gradients are checked');
like(scalar `simrun show metrics 2>&1`, qr/^calls\s+1 at 0, rank 2$/m, 'and what it measures is kept');
SKIP: {
    skip 'pkg-config is not installed', 4 if system('pkg-config --version >/dev/null 2>&1');
    $ENV{PKG_CONFIG_PATH} = "$root/lib/pkgconfig";
    like(scalar `pkg-config --modversion simrun`, qr/^\d+\.\d+\.\d+$/, 'pkg-config knows it');
    is(system('cc $(pkg-config --cflags simrun) -shared -o by-hand mean.c $(pkg-config --libs simrun) 2>err'), 0,
        'a compiler with its flags builds a program') or diag `cat err`;
    like(scalar `simrun -n 3 --db none ./by-hand 2>&1`, qr/^1 of 3\n(?s:.*)^PASS /m, 'that runs');
    is(`\$(pkg-config --variable=simcc simrun) -show -c x.c` =~ /-I\S*include\/simrun/ ? 1 : 0, 1, 'it names simcc');
}
SKIP: {
    skip 'gfortran is not installed', 4 if system('command -v gfortran >/dev/null');
    for my $module (qw(mpi mpi_f08)) {
        open my $out, '>', "$module-user.f90" or die;
        print $out "program p\n  use $module\n  integer :: n, e\n  call MPI_Init(e)\n  call MPI_Comm_size(MPI_COMM_WORLD, n, e)\n"
            . "  print '(a,i0)', 'of ', n\n  call MPI_Finalize(e)\nend program\n";
        close $out;
        is(system("simfort -o $module-user $module-user.f90 2>err"), 0, "simfort finds the module $module") or diag `cat err`;
        my @said = map { scalar `simrun -n 3 --db none $_ 2>&1` } "./$module-user", "./$module-user.f90";
        is(scalar(grep { /^of 3$/m && /^PASS /m } @said), 2, 'the program runs, built or not') or diag "@said";
    }
}
for my $mpi (qw(openmpi mpich)) {
    SKIP: {
        skip "$mpi is not installed", 1 if system("command -v mpicc.$mpi >/dev/null");
        open my $out, '>', 'theirs.c' or die;
        print $out "#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); MPI_Barrier(MPI_COMM_WORLD); return MPI_Finalize(); }\n";
        close $out;
        is(system("mpicc.$mpi -w -o theirs theirs.c && simrun -n 3 --db none ./theirs >out 2>&1"), 0, "what stands in for $mpi is installed")
            or diag `cat out`;
    }
}
done_testing();
