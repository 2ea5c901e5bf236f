#!/usr/bin/perl
# simrun prove: one verdict of models, matches, leaks and gradients; the same word in every output.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use JSON::PP;
use Test::More;

$ENV{CC} = 'gcc';    # clang leaves out elements of arrays on the stack, and nothing is proven
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = scratch_folder();
chdir $folder or die;
sub spew { my ($name, $text) = @_; open my $f, '>', $name or die; print $f $text; close $f }
sub slurp { open my $f, '<', shift or return ''; local $/; my $t = <$f>; return $t // '' }
sub prove {
    my $status = system("exec timeout 100 '$simrun' prove --db none @_ >out 2>err");
    return $status >> 8;
}
sub program {
    my ($name, $body) = @_;
    spew("$name.c", "#include <mpi.h>\n#include <stdio.h>\n#include <stdlib.h>\nint main(int argc, char **argv)\n{\n    int rank, size, x = 1, y = 0;\n"
        . "    MPI_Request q = MPI_REQUEST_NULL;\n    MPI_Init(&argc, &argv);\n    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n"
        . "    MPI_Comm_size(MPI_COMM_WORLD, &size);\n    (void)x, (void)y, (void)q;\n$body    MPI_Finalize();\n    return 0;\n}\n");
}

# What must be said: word, exit status, code ('' for none).
my $exchange = sub { "    MPI_$_[0](&x, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD$_[1]);\n" };
my $receive = "    MPI_Recv(&y, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n";
my @programs = (
    ['right', $exchange->('Isend', ', &q') . $receive . "    MPI_Wait(&q, MPI_STATUS_IGNORE);\n", 'PROVEN', 0, ''],
    ['buffered', $exchange->('Send', '') . $receive, 'FAIL', 1, 'D003'],
    ['synchronous', $exchange->('Ssend', '') . $receive, 'FAIL', 1, 'D001'],
    ['lost', "    if (rank == 0)\n    " . $exchange->('Send', ''), 'FAIL', 1, 'D003'],
    ['wildcard', "    if (rank == 0)\n        for (int i = 1; i < size; i++)\n"
        . "            MPI_Recv(&y, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n"
        . "    else\n        MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);\n", 'PROVEN', 0, '', 3],
    ['unlucky', "    if (rank == 0) {\n        MPI_Recv(&y, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n"
        . "        MPI_Recv(&y, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n    } else\n"
        . "        MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);\n", 'FAIL', 1, 'D002', 3],
    ['synchronises', "    if (rank == 0) {\n        MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);\n"
        . "        MPI_Send(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);\n    } else {\n"
        . "        MPI_Recv(&y, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n"
        . "        MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);\n    }\n", 'FAIL', 1, 'D002'],
    ['types', "    float f = 0;\n    if (rank == 0)\n        MPI_Send(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);\n"
        . "    else\n        MPI_Recv(&f, 1, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n", 'FAIL', 1, 'M008'],
);
for my $row (@programs) {
    my ($name, $body, $word, $code, $finding, $ranks) = @$row;
    program($name, $body);
    is(prove('-n', $ranks // 2, "./$name.c"), $code, "$name: exit status $code");
    my $out = slurp('out');
    like($out, qr/^$word /, "$name: $word");
    my @errors = grep { !/^L\d/ && ($finding eq 'R003' || $_ ne 'R003') } $out =~ /^([A-Z]\d{3}) /mg;
    is("@errors", $finding, "$name: one finding, " . ($finding || 'none'));
}

program('prints', "    if (rank == 0)\n        for (int i = 1; i < size; i++) {\n"
        . "            MPI_Recv(&y, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n"
        . "            printf(\"%d\\n\", y);\n        }\n"
        . "    else\n        MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);\n");
prove('-n 3 ./prints.c');
unlike(slurp('out'), qr/^PROVEN/, 'what prints another value under another match is not proven');

# A defect that several models show is told once, with the models.
prove('-n 2 --json ./types.c');
my $json = decode_json(slurp('out'));
is($json->{findings}[0]{models}, 'eager rendezvous', 'the models stand in the finding');

# Nothing is called proven when something was left out.
is(prove('-n 2 --check deadlock ./right.c'), 0, 'a check that was switched off');
like(slurp('out'), qr/^PASS .*not covered: checks that were switched off/s, 'is PASS and a gap');
is(prove('-n 4 --runs 2 ./wildcard.c'), 0, 'an exploration that was bounded');
like(slurp('out'), qr/^PASS .*not covered: .*beyond the budget/s, 'is PASS and a gap');
is(prove('-n 4 --runs 2 --require complete ./wildcard.c'), 6, 'and 6 where completeness is required');
is(prove('-n 2 --budget 0 ./right.c'), 2, 'a budget of nothing is refused');

# The same word, finding and gap in every output.
for my $case (['right', '', 'PROVEN', 0, undef], ['right', '--no-gradients --check -race', 'PASS', 0, 'switched off'],
              ['buffered', '', 'FAIL', 1, undef], ['right', '--check -race --require complete', 'PASS', 6, 'switched off']) {
    my ($name, $options, $word, $code, $gap) = @$case;
    my $what = "$name $options";
    $ENV{GITHUB_STEP_SUMMARY} = "$folder/summary";
    unlink 'summary';
    is(prove("-n 2 $options --json --junit o.xml --html o.html --sarif o.sarif --github ./$name.c"), $code, "$what: $code");
    my $data = decode_json(slurp('out'));
    is($data->{verdict}, $word, "$what: JSON");
    my ($xml, $html, $sarif, $github, $summary) = (slurp('o.xml'), slurp('o.html'), decode_json(slurp('o.sarif')), slurp('err'), slurp('summary'));
    is($xml =~ /<failure/ ? 1 : 0, $code ? 1 : 0, "$what: JUnit fails where it must");
    like($html, qr/>$word</, "$what: report");
    is($sarif->{runs}[0]{properties}{verdicts}[0]{verdict}, $word, "$what: SARIF");
    is((scalar grep { $_->{level} eq 'error' } @{$sarif->{runs}[0]{results}}) ? 1 : 0, $code == 1 ? 1 : 0, "$what: its errors");
    like($summary, qr/\| $word \|/, "$what: GitHub's summary");
    is(prove("-n 2 $options --tap ./$name.c"), $code, "$what: TAP");
    my $tap = slurp('out');
    is($tap =~ /^not ok/m ? 1 : 0, $code ? 1 : 0, "$what: fails where it must");
    next unless $gap;
    like($_, qr/$gap/, "$what: the gap") for $xml, $html, $summary, $github, $tap, encode_json($data), encode_json($sarif);
}
delete $ENV{GITHUB_STEP_SUMMARY};
system("'$simrun' prove --db p.db -n 2 ./right.c >out 2>err");
like(`'$simrun' query --db p.db 'select word, outcome from runs' 2>/dev/null`, qr/PROVEN.*pass/s, 'the database keeps the word');

# Two workers of two threads that ask each other have more interleavings than anybody waits for: what was not looked at is said, and the
# word is not proof. On a machine that is too busy the program's own run does not end in the first budget.
my $unfinished = 124;
for my $seconds (1, 4, 16) {
    $unfinished = prove("--budget ${seconds}s --require complete dist-engine crossing 2 3");
    last if $unfinished != 124;
}
is($unfinished, 6, 'an exploration that does not end is not complete');
like(slurp('out'), qr/^PASS .*not covered:.*(beyond the budget|the budget was spent)/s, 'nor a proof: it names what was left');

# Streams of a device: declared, judged besides, and part of the proof.
# Other runs are recorded to other iterations: a finding of theirs names none of the first run's, where its own was left out there.
spew('late.c', <<'END');
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, n = atoi(argv[1]), at = atoi(argv[2]), x[2] = {0}, y[2];
    MPI_Status st = {.MPI_SOURCE = 1};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < n; i++) {
        if (rank) {
            MPI_Send(x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        } else {
            MPI_Recv(y, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &st);
            MPI_Recv(y, 1, MPI_INT, 3 - st.MPI_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Bcast(x, i == at && st.MPI_SOURCE == 2 && !rank ? 2 : 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
END
is(prove('-n 3 --runs 20 ./late.c 200 150'), 1, 'a mistake in one iteration, where another message comes first');
like(slurp('out'), qr/^M005 .*?Collective\s+number\s+151\s+on/ms, 'is told with the number of its collective');
unlike(slurp('out'), qr/Bcast[^()]*after (?!150)\d+ like iterations/, 'and with no other iteration');

is(prove('-n 2 --streams device group-streams divergent'), 1, 'two groups in orders of their own hang on one stream');
like(slurp('out'), qr/D002.*order of issue.*With a stream for each communicator it ends.*models +device\n/s, 'which the finding says, and no other model');
unlike(slurp('out'), qr/confirmed by a real run/, 'and no run under MPI is said to have shown it');
is(prove('-n 2 --streams device group-streams same'), 0, 'in one order they do not');
like(slurp('out'), qr/^PROVEN/, 'and are proven');
is(prove('-n 2 --streams communicator group-streams divergent'), 0, 'nor with a stream for each');
done_testing;
