#!/usr/bin/perl
# What the checks did not look at stands in every output, and --require turns it into exit status 6.
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
chdir $folder;

sub run {
    my $out = `'$simrun' @_ 2>said`;
    return ($? >> 8, $out);
}

my $gap = qr/changes of pending send buffers above|nothing was recorded|checks that were switched off/;
for my $case (['--record none', 'run', 'nothing was recorded'],
              ['--no-gradients', 'gradients', 'not checked'],
              ['--check deadlock', 'run', 'switched off']) {
    my ($options, $check, $text) = @$case;
    my ($code, $out) = run("--db a.db $options -n 2 --html a.html --junit a.xml --github ring");
    is($code, 0, "$options passes");
    like($out, qr/^PASS ring.*not covered: .*$text/s, 'the gap stands behind the verdict');
    like($out, qr/^::notice title=N002 coverage PASS::ring: not covered:.*$text/m, 'in an annotation');
    like(`cat a.html`, qr/Not covered.*$text/s, 'in the report');
    like(`cat a.xml`, qr/<property name="not covered: $check" value="[^"]*$text/, 'in JUnit');
    is(system("xmllint --noout a.xml 2>/dev/null"), 0, 'which is well formed') if -x '/usr/bin/xmllint';
    ($code, $out) = run("--db none $options -n 2 --json ring");
    my $json = decode_json($out);
    ok(!$json->{complete}, 'JSON: not complete');
    ok((grep { $_->{check} eq $check && $_->{text} =~ /$text/ && $_->{code} eq 'N002' } @{$json->{coverage}}),
       'and the gap');
    ($code, $out) = run("--db none $options -n 2 --tap ring");
    like($out, qr/^# N002 not covered by $check: .*$text/m, 'TAP: a comment');
    my $count = `'$simrun' query --db a.db "select count(*) from v_coverage where check_name='$check' and text like '%$text%'" 2>/dev/null`;
    like($count, qr/[1-9]/, 'the database keeps it');
    ($code, $out) = run("--db none $options -n 2 --require complete --tap --junit r.xml ring");
    is($code, 6, 'required: exit status 6');
    like($out, qr/^not ok \d+ - ring\/ranks=2: nothing else$/m, 'and not all is ok in TAP');
    like(`cat r.xml`, qr/<failure message="required and not reached: complete"/, 'nor in JUnit');
    ($code, $out) = run("--db none $options -n 2 --require complete ring");
    like($out, qr/required and not reached: complete/, 'told on the terminal');
}
my ($code, $out) = run('--db none -n 2 --require complete,gradients,decided ring');
is($code, 0, 'what is complete passes');
unlike($out, qr/not covered/, 'without a word');
open my $plain, '>', 'plain.c';
print $plain "#include <mpi.h>\nint main(void)\n{\n  MPI_Init(0, 0);\n  MPI_Barrier(MPI_COMM_WORLD);\n  MPI_Finalize();\n}\n";
close $plain;
is((run('--db none -n 2 --require complete ./plain.c'))[0], 0, 'a program without gradients is complete');
is((run('--db none -n 2 --require gradients ./plain.c'))[0], 6, 'and has no gradients to require');
is((run('--db none -n 2 --require all ./plain.c'))[0], 2, 'an unknown demand is refused');
is((run('--db none -n 2 --require complete two-allreduce'))[0], 1, 'a finding is worse than a gap');
done_testing;
