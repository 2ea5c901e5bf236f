#!/usr/bin/perl
# Random programs (forms.c), most with a mistake, in other forms that mean the same: the same codes are found. MPI defines a blocking call
# as its nonblocking form and a wait, so no verdict may hang on which was written; nor on the numbers of ranks, on a type that is one
# element of another, or on a wildcard where only one message can come. A sample; SEEDS=1000 FIRST=1, and ALL=1 for all forms of each.
use strict;
use warnings;
use JSON::PP;
use Test::More;

my $simrun = $ENV{SIMRUN} // 'build/simrun';
my %forms = (
    mixed => 'mixed plain named world shared', started => 'plain started named world shared', large => 'plain big named world shared',
    persistent => 'plain persistent named world shared', vector => 'plain vector named world shared', struct => 'plain plain struct world shared',
    rotate => 'plain plain named rotate shared', mirror => 'mixed started contiguous mirror shared', idle => 'plain plain dup idle shared',
    both => 'plain plain named both shared', any => 'plain plain named world any', free => 'mixed persistent dup world any',
);

sub codes {
    my ($ranks, $words) = @_;
    my $out = `'$simrun' --db none --json -n $ranks tests/wrong/forms.c $words 2>/dev/null`;
    my ($line) = grep { /^\{"scenario"/ } split /\n/, $out;
    my $verdict = $line ? decode_json($line) : return 'no verdict';
    my %codes = map { $_->{code} => 1 } grep { $_->{severity} ne 'note' } @{ $verdict->{findings} };
    return join ' ', $verdict->{verdict}, sort keys %codes;
}

# A blocking rooted collective hangs where a nonblocking one is left alone.
sub alike { my ($codes) = @_; return $codes =~ s/^FAIL D002$/FAIL M010/r }

my @seeds = ($ENV{SEEDS} || $ENV{FIRST}) ? (($ENV{FIRST} // 1) .. ($ENV{FIRST} // 1) + ($ENV{SEEDS} // 100) - 1) : (1070, 1100, 1148, 1320, 2001 .. 2010);
my $wrong = 0;
for my $seed (@seeds) {
    my $ranks = 2 + $seed % 3;
    my %plain = map { $_ => codes($ranks, "$seed plain plain named world $_") } 'shared', 'unique';
    my (@differ, $number);
    $number = 0;
    for my $form (sort keys %forms) {
        next if !$ENV{ALL} && ($seed + $number++) % 3;
        my $before = $plain{ $forms{$form} =~ /any$/ ? 'unique' : 'shared' };
        my $after = codes($ranks + ($form eq 'idle' ? 1 : 0) + ($form eq 'both' ? $ranks : 0), "$seed $forms{$form}");
        # Where messages race, another one may come first.
        push @differ, "$form: $before, here $after" if alike($before) ne alike($after) && "$before $after" !~ /R003/;
    }
    is "@differ", '', "seed $seed on $ranks ranks: $plain{shared}";
    $wrong++ if $plain{shared} =~ /^FAIL/;
}
cmp_ok $wrong, '>=', @seeds / 4, 'many hold a mistake';
done_testing;
