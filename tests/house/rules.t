#!/usr/bin/perl
# tests/rules.tsv: every rule of the standard is held by a test, and every test named there exists.
use strict;
use warnings;

my ($rows, $wrong, %numbers, %texts) = (0, 0);

sub complain { print "# ", @_, "\n"; $wrong++ }

# All string literals of a test, parts that stand side by side joined.
sub names_of {
    my ($file) = @_;
    return $texts{$file} if exists $texts{$file};
    my ($path) = grep { -f $_ } "tests/$file.c", "tests/$file";
    return $texts{$file} = undef unless $path;
    local $/;
    open my $in, '<', $path or die "$path: $!";
    my $text = <$in>;
    $text =~ s/"\s*\n\s*"//g;
    return $texts{$file} = $text;
}

open my $table, '<', 'tests/rules.tsv' or die "tests/rules.tsv: $!";
while (<$table>) {
    next if /^#/;
    chomp;
    my $line = $.;
    my ($number, $section, $rule, $tests, @more) = split /\t/;
    $rows++;
    complain("line $line: a row is a number, a section, a rule and its tests") if @more || !$tests || !$section || ($rule // '') !~ /\.$/;
    complain("line $line: $number stands twice") if $numbers{$number // ''}++;
    for my $test (split / \| /, $tests // '') {
        my ($file, $name) = split /: /, $test, 2;
        my $text = names_of($file);
        if (!defined $text) { complain("line $line: there is no test $file") }
        elsif (length $name < 12 || index($text, $name) < 0) { complain("line $line: $file has no test '$name'") }
    }
}
print "TAP version 13\n1..2\n";
print $rows >= 100 ? '' : 'not ', "ok 1 - the table has its rules ($rows)\n";
print $wrong ? 'not ' : '', "ok 2 - each is held by tests that exist\n";
