#!/usr/bin/perl
# simrun explore: every output of simrun prove, with one word and one exit status; a bounded exploration says that it is one.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use JSON::PP;
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = scratch_folder();
chdir $folder or die;
sub spew { my ($name, $text) = @_; open my $f, '>', $name or die; print $f $text; close $f }
sub slurp { open my $f, '<', shift or return ''; local $/; my $t = <$f>; return $t // '' }
sub explore { my $status = system("exec timeout 100 '$simrun' explore @_ >out 2>err </dev/null"); return $status >> 8 }
sub program {
    my ($name, $second) = @_;
    spew("$name.c", "#include <mpi.h>\nint main(int argc, char **argv)\n{\n    int rank, x = 0;\n    MPI_Init(&argc, &argv);\n"
        . "    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n    if (rank == 0) {\n        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n"
        . "        MPI_Recv(&x, 1, MPI_INT, $second, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n    } else\n        MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);\n"
        . "    MPI_Finalize();\n    return 0;\n}\n");
}
program('right', 'MPI_ANY_SOURCE');
program('wrong', '2');

my %verdicts = (right => ['PASS', 0], wrong => ['FAIL', 1]);
for my $name (sort keys %verdicts) {
    my ($word, $status) = @{$verdicts{$name}};
    is(explore("-n 3 ./$name.c"), $status, "$name: on the terminal");
    like(slurp('out'), qr/^$word /m, 'the word');
    is(explore("--json -n 3 ./$name.c"), $status, "$name: JSON");
    is(decode_json(slurp('out'))->{verdict}, $word, 'has the word');
    is(explore("--tap -n 3 ./$name.c"), $status, "$name: TAP");
    is(slurp('out') =~ /^not ok (?!.*# TODO)/m ? 1 : 0, $status, 'fails where the exploration does');
    is(explore("--junit a.xml --html a.html --sarif a.sarif --github --db a.db -n 3 ./$name.c"), $status, "$name: the files");
    is(slurp('a.xml') =~ /<failure/ ? 1 : 0, $status, 'JUnit');
    like(slurp('a.html'), qr/$word/, 'HTML');
    is(scalar(grep { $_->{level} eq 'error' } @{decode_json(slurp('a.sarif'))->{runs}[0]{results}}) > 0 ? 1 : 0, $status, 'SARIF');
    is(slurp('out') =~ /^::error/m ? 1 : 0, $status, 'GitHub');
    like(`'$simrun' log --db a.db`, qr/$name/, 'the database');
}
ok(!-e 'simrun.db', 'nothing is kept that was not asked for');

# What was not reached.
for my $way ('', '--json') {
    is(explore("$way --runs 1 -n 3 ./right.c"), 0, "bounded $way: nothing was found");
    is(explore("$way --runs 1 --require complete -n 3 ./right.c"), 6, 'and it was not complete');
    is(explore("$way --require complete -n 3 ./right.c"), 0, 'without the bound it was');
}
explore('--json --runs 1 -n 3 ./right.c');
like(slurp('out'), qr/beyond the budget/, 'the gap is named');
done_testing;
