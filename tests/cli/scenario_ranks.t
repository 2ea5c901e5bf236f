#!/usr/bin/perl
# A scenario whose tables have room for so many ranks says so of more, as simrun does of its own options; none crashes on its tables.
use strict;
use warnings;
use Cwd qw(abs_path);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my %most = ('data-parallel' => 32, 'shared-reads' => 16, 'fsdp-expert' => 64);
for my $source (glob 'scenarios/*.c') {
    open my $file, '<', $source or die "$source: $!";
    my $text = do { local $/; <$file> };
    my ($name) = $source =~ m{([^/]+)\.c$};
    $most{$name} = $1 if $text =~ /\bRANKS_MAX = (\d+)/;
    $most{$name} = $1 + 1 if $text =~ /\bWORKERS_MAX = (\d+)/; # and their master
}
cmp_ok(scalar(keys %most), '>', 12, 'there are scenarios with tables');
for my $name (sort keys %most) {
    my $more = $most{$name} + 1;
    my $out = `timeout 60 '$simrun' --db none -q -n $more $name 2>&1 </dev/null`;
    is($? >> 8, 2, "$name on $more ranks is refused") or diag($out);
    like($out, qr/room for at most $most{$name} ranks, not $more/, 'with the number that works');
}
done_testing();
