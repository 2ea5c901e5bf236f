#!/usr/bin/perl
# Programs on the tapes of ADOL-C and of Sacado's Rad, with plain calls of MPI on their active numbers (tools.cpp): their gradients
# are checked; where one call moves the numbers alone, that call is named.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} // 'build/simrun');
my $compiler = dirname($simrun) . '/simc++';
my $source = abs_path(dirname($0) . '/tools.cpp');
chdir scratch_folder() or die;
open my $text, '<', $source or die;
my ($passive, $sent);
while (<$text>) {
    $sent = $. if /MPI_Send\(&value/;
    $passive = $. if /MPI_Allreduce\(&value/;
}

sub told {
    my $out = `timeout 300 '$simrun' --db none @_ 2>&1`;
    $out =~ s/\s+/ /g;
    return $out;
}

for my $tool (['ADOL-C', 'libadolc-dev', '#include <adolc/adolc.h>', '', '-ladolc'],
              ['Rad', 'libtrilinos-sacado-dev and libtrilinos-kokkos-dev', '#include <Sacado_trad.hpp>', '-DRAD -I/usr/include/trilinos', '']) {
    my ($name, $package, $include, $flags, $libraries) = @$tool;
  SKIP: {
        open my $probe, '>', 'probe.cpp' or die;
        print $probe "$include\nint main() {}\n";
        close $probe;
        skip "$name is absent: $package", 10 if system("g++ $flags -o probe probe.cpp $libraries >probe.out 2>&1");
        is(system("'$compiler' -g $flags -o $name '$source' $libraries >compile.out 2>&1"), 0, "$name: a program is built")
            or diag `head -20 compile.out`;
        for my $operation (qw(heat cg chain messages mixed allreduce)) {
            like(told('-n', 4, "./$name", $operation), qr/^PASS \S+, 4 ranks: finished, 17 of 17 gradients right/,
                "$name: $operation: all gradients are right");
        }
        for my $operation (qw(heat cg)) {
            like(told('-n', 3, "./$name", $operation, 'passive'),
                qr/^FAIL .*no call after the objective is the adjoint of this Allreduce.* where rank 0: Allreduce sum of 1 double \S*tools\.cpp:$passive /,
                "$name: $operation: the call that moves numbers without their derivatives is named");
        }
        like(told('-n', 3, "./$name", 'chain', 'passive'),
            qr/^FAIL .*no call after the objective takes the cotangent of this message, which rank \d sends back where rank \d: Send to \d tag 3 \S*tools\.cpp:$sent /,
            "$name: the send that leaves derivatives behind is named, not the receive that sends them back");
    }
}
done_testing();
