#!/usr/bin/perl
# Runs the programs of programs.tsv: each must have its word, its exit status and one of its codes. TAP, or with --table a
# table; ends with 1 where a row deviates that is not marked open.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use JSON::PP;

my $table = @ARGV && $ARGV[0] eq '--table' ? shift : '';
my $pattern = shift // '';
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
chdir dirname(abs_path($0)) or die;
my ($number, $bad, $open, $closed, @rows) = (0, 0, 0, 0);
open my $list, '<', 'programs.tsv' or die;
while (<$list>) {
    chomp;
    next if /^#/ || !/\S/ || index($_, $pattern) < 0;
    push @rows, [split /\t/];
}
print $table ? sprintf("%-52s %-8s %-4s %-14s %s\n", 'program', 'word', 'exit', 'findings', '') : 'TAP version 13' . "\n1.." . @rows . "\n";
for my $row (@rows) {
    my ($mark, $command, $word, $code, $codes) = @$row;
    my @words = split ' ', $command;
    my $verb = shift @words;
    unshift @words, '--budget', '20s' if $verb eq 'prove';
    my $out = `timeout 120 '$simrun' $verb --db none --json @words 2>/dev/null </dev/null`;
    my $status = $? >> 8;
    my ($line) = grep { /^\{"scenario"/ } split /\n/, $out;
    my $verdict = $line ? eval { decode_json($line) } : undef;
    my $said = $verdict ? $verdict->{verdict} : '?';
    # A note is found where one is expected, and no finding where none is.
    my @notes = $verdict ? map { $_->{code} } grep { $_->{severity} eq 'note' } @{$verdict->{findings}} : ();
    my @found = $verdict ? map { $_->{code} } grep { $_->{severity} ne 'note' } @{$verdict->{findings}} : ();
    my %wanted = map { $_ => 1 } split /\|/, $codes;
    my $fits = grep { $_ eq $said } split /\|/, $word;
    $fits &&= grep { $_ eq $status } split /\|/, $code;
    $fits &&= $wanted{'-'} && !@found || grep { $wanted{$_} } @found, @notes;
    $number++;
    my $name = "@words";
    $name =~ s/--budget 20s //;
    my $todo = $mark eq 'open';
    $bad++ if !$fits && !$todo;
    $open++ if !$fits && $todo;
    $closed++ if $fits && $todo;
    if ($table) {
        printf "%-52s %-8s %-4s %-14s %s\n", $name, $said, $status, join(' ', @found),
            $fits ? $todo ? 'as expected: no longer open' : 'as expected' : ($todo ? 'known open: ' : 'DIFFERS: ') . "$word $code $codes";
    } else {
        printf "%sok %d - %s: %s %s %s%s\n", $fits ? '' : 'not ', $number, $name, $word, $code, $codes, $todo ? ' # TODO known open' : '';
        print "# said $said $status @found\n" unless $fits;
    }
}
print "# " unless $table;
printf "%d of %d as expected, %d known open, %d no longer open, %d DIFFER\n", @rows - $bad - $open, scalar @rows, $open, $closed, $bad;
exit($bad ? 1 : 0);
