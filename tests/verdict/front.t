#!/usr/bin/perl
# No false green of the command line: what cannot be judged is ERROR, what is allowed silences only itself.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use JSON::PP;
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $cases = abs_path('tests/examination');
my $folder = scratch_folder();
chdir $folder or die;
sub spew { my ($name, $text) = @_; open my $f, '>', $name or die; print $f $text; close $f }
sub slurp { open my $f, '<', shift or return ''; local $/; my $t = <$f>; return $t // '' }
sub run { my $status = system("exec timeout 100 '$simrun' @_ >out 2>err"); return $status >> 8 }
sub codes { return join ' ', sort((slurp('out') =~ /^([A-Z]\d{3}) /mg)) }

# Programs without MPI.
spew('none.c', "int main(void)\n{\n    return 0;\n}\n");
spew('right.c', "#include <mpi.h>\nint main(void)\n{\n    MPI_Init(0, 0);\n    MPI_Finalize();\n    return 0;\n}\n");
spew('session.c', "#include <mpi.h>\nint main(void)\n{\n    MPI_Session s;\n    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &s);\n    MPI_Session_finalize(&s);\n    return 0;\n}\n");
for my $program ('./none.c', '/bin/ls') {
    for my $command ('run', 'prove', 'explore') {
        my $db = $command eq 'explore' ? '' : '--db none';
        is(run("$command $db -n 2 $program"), 3, "$command $program: exit status 3");
        like(slurp('err'), qr/no rank called MPI_Init/, 'says why');
    }
    is(run("--db none --tap -n 2 $program"), 3, "$program: TAP");
    like(slurp('out'), qr/^not ok/m, 'is not ok');
}
is(run('--db none -n 2 ./right.c'), 0, 'a program with MPI is judged');
is(run('--db none -n 2 ./session.c'), 0, 'one with sessions as well');

# What --allow names, and nothing else.
my @allowed = (
    ['--mutant identity', "'$cases/architecture/two.c'", '', 'G001', 1],
    ['--mutant identity', "'$cases/architecture/two.c' both", '', 'B001 G001', 1],
    ['--mutant identity --allow B001', "'$cases/architecture/two.c' both", 'B001', 'G001', 1],
    ['--mutant identity --allow G001', "'$cases/architecture/two.c' both", 'G001', 'B001', 1],
    ['--mutant identity --allow G001:two.c:14', "'$cases/architecture/two.c'", 'G001', 'G001', 1], # the gradient of x is still wrong
    ['--mutant identity --allow G001 --allow B001', "'$cases/architecture/two.c' both", 'B001 G001', '', 0],
    ['--order data', "'$cases/architecture/allowm.c' bad", '', 'M008 R002', 1],
    ['--order data --allow M008', "'$cases/architecture/allowm.c' bad", 'M008', 'R002', 1],
    ['--order data --allow R002', "'$cases/architecture/allowm.c' bad", 'R002', 'M008', 1],
);
for my $row (@allowed) {
    my ($options, $program, $silent, $loud, $code) = @$row;
    is(run("--db none -n 2 --json $options $program"), $code, "$options: exit status $code");
    my $findings = decode_json(slurp('out'))->{findings};
    is(join(' ', sort map { $_->{code} } grep { $_->{allowed} } @$findings), $silent, 'these are allowed');
    is(join(' ', sort map { $_->{code} } grep { !$_->{allowed} && $_->{severity} eq 'error' } @$findings), $loud, 'these fail');
}
run("--db none -n 2 --json --order data '$cases/architecture/allowm.c' bad");
my %print = map { $_->{code} => $_->{fingerprint} } @{decode_json(slurp('out'))->{findings}};
spew('baseline', "# known\n$print{M008}  the types, issue 7\n\nR002:$print{R002}\n");
is(run("--db none -n 2 --order data --allow $print{M008} '$cases/architecture/allowm.c' bad"), 1, 'a fingerprint allows one');
is(run("--db none -n 2 --order data --allow \@baseline '$cases/architecture/allowm.c' bad"), 0, 'a baseline allows what it lists');
is(run("--db none -n 2 --order data --allow \@absent '$cases/architecture/allowm.c' bad"), 2, 'one that is absent is refused');
is(run("--db none -n 2 --allow X9 '$cases/architecture/allowm.c'"), 2, 'a rule that is none, too');

# Any number of files.
is(run("--db none --record ops -n 2 ./right.c"), 0, 'a run');
system("'$simrun' --db a.db -n 2 ./right.c >out 2>err; '$simrun' export --db a.db --format jsonl 1 -o good.jsonl 2>err || '$simrun' export --db a.db --format jsonl -o good.jsonl");
system("cp good.jsonl f$_.jsonl") for 1 .. 300;
spew('f300.jsonl', "nonsense\n");
is(run(join ' ', 'check', map { "f$_.jsonl" } 1 .. 300), 3, 'the 300th of 300 files is read, too');
is(scalar(() = slurp('out') =~ /^PASS/mg), 299, 'and all the others');

# The terminal.
is(run("--db none --check deadlok -n 2 ./right.c"), 2, 'an unknown check');
like(slurp('err'), qr/there are: .*deadlock/, 'the names are listed');
is(run("--db none --junit no/such/place.xml -n 2 ./right.c"), 5, 'an output that cannot be written');
like(slurp('err'), qr/nothing was run/, 'is told before the run');
{
    local $ENV{COLUMNS} = 300;
    run("--db none -n 2 --order data '$cases/architecture/allowm.c' bad");
    cmp_ok((sort { $b <=> $a } map { length } split /\n/, slurp('out'))[0], '>', 100, 'COLUMNS is respected');
}
run('--db none -n 2 ./right.c');
like(slurp('out'), qr/prove adds: other progress models$/m, 'a plain run says what prove would add');
run('--db none -n 2 waitall');
like(slurp('out'), qr/prove adds: other progress models, loads and stores of pending buffers$/m, 'buffers of requests, too');
run('--db none --memory -n 2 waitall');
like(slurp('out'), qr/prove adds: other progress models$/m, 'but not what it looked at itself');
done_testing;
