#!/usr/bin/perl
# Style of what people read first: README, CONTRIBUTING, docs, and simrun's help.
#
#   lines      at most 150 columns; tables, code and pictures may be wider
#   sentences  at most 35 words in README and the help, 50 elsewhere
#   shape      no sentence whose subject is a relative clause ("What nobody receives is listed"): such a sentence is read twice.
#              Name the object first ("Unreceived messages are listed"). Questions are allowed.
#   links      every page of docs/ is reached from README
#   quotes     tests give a shell the path of simrun in quotes: a checkout may lie in a folder with blanks (make bare)
#
#   tests/house/style.t --list    what is wrong, one a line
use strict;
use warnings;
use Cwd 'abs_path';

$ENV{COLUMNS} = 80;
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my ($columns, $words_front, $words_manual) = (150, 35, 50);
my %problems = (lines => [], sentences => [], shape => [], links => [], quotes => []);

sub read_text { my ($path) = @_; open my $in, '<:encoding(UTF-8)', $path or die "$path: $!"; local $/; return <$in> }

# One paragraph, list item or table cell.
sub check_prose {
    my ($where, $text) = @_;
    my $words_max = $where =~ /^(?:README|simrun)/ ? $words_front : $words_manual;
    $text =~ s/`[^`]*`/code/g;
    $text =~ s/!?\[([^\]]*)\]\([^)]*\)/$1/g;
    $text =~ s/https?:\S+/address/g;
    $text =~ s/\s+/ /g;
    $text =~ s/\b(?:e\.g|i\.e|etc|vs|No)\./$1/g;
    for my $sentence (split /(?<=[.!?:;])["')*]*\s+(?=["'(*]*(?:[A-Z0-9]|code\b))/, $text) {
        my @words = $sentence =~ /[\w'’-]+/g;
        push @{ $problems{sentences} }, "$where: " . @words . " words: $sentence" if @words > $words_max;
        push @{ $problems{shape} }, "$where: $sentence"
            if $sentence =~ /^["'(*]*(?:What|Whoever|Whatever|Who|Whose|Whether|That which)\b/ && $sentence !~ /\?\W*$/ && @words > 4;
    }
}

for my $page ('README.md', 'CONTRIBUTING.md', sort glob 'docs/*.md') {
    my ($number, $in_block, $begun, $paragraph) = (0, 0, 0, '');
    my $end = sub { check_prose("$page:$begun", $paragraph) if $paragraph =~ /\S/; $paragraph = '' };
    for my $line (split /\n/, read_text($page)) {
        $number++;
        if ($line =~ /^\s*```/) { $in_block = !$in_block; $end->(); next }
        next if $in_block;
        if ($line =~ /^\|/) { # a row of a table: each cell for itself
            $end->();
            $begun = $number;
            check_prose("$page:$number", $_) for split /\|/, $line;
            next;
        }
        push @{ $problems{lines} }, "$page:$number: " . length($line) . " columns" if length $line > $columns && $line !~ /^!\[/;
        if ($line =~ /^\s*$|^#/) { $end->(); next }
        $end->() if $line =~ /^\s*(?:[-*]|\d+\.) /;
        $begun = $number if !length $paragraph;
        (my $plain = $line) =~ s/^\s*(?:[-*]|\d+\.|>) //;
        $paragraph .= "$plain ";
    }
    $end->();
}

# Help: prose stands in lines of its own; rows of options are cut at two blanks.
my @commands = map { /^  ([a-z]+)\s{2,}/ ? $1 : () } split /\n/, `'$simrun' help`;
for my $command ('', @commands) {
    my $text = `'$simrun' help $command 2>&1`;
    my $paragraph = '';
    for my $line (split(/\n/, $text), '') {
        push @{ $problems{lines} }, "simrun help $command: " . length($line) . " columns: $line" if length $line > 80;
        if ($line =~ /^\s*$/ || $line =~ /^\s*(?:-|simrun|usage)|^  [a-z]+ {2,}/i) { check_prose("simrun help $command", $paragraph); $paragraph = '' }
        (my $plain = $line) =~ s/^\s+\S+(?: \S+)*\s{2,}//;
        $paragraph .= "$plain ";
    }
}

my $readme = read_text('README.md');
for my $page (glob 'docs/*.md') { push @{ $problems{links} }, "README.md does not link $page" if index($readme, "($page)") < 0 }

for my $script (glob 'tests/*/*.t tests/*/*.pl') {
    my $number = 0;
    my $text = read_text($script);
    my $perl = $text =~ /^#!.*perl/;
    for (split /\n/, $text) {
        $number++;
        push @{ $problems{quotes} }, "$script:$number: $_" if $perl && /(?<!['"\w\\])\$sim(?:run|cc) [a-z-]/ && !/^\s*print/;
        push @{ $problems{quotes} }, "$script:$number: $_" if /`[^`'"]*(?:^|[\s`])\$sim(?:run|cc)\b/;
    }
}

if (($ARGV[0] // '') eq '--list') {
    print "$_\n" for map { @{ $problems{$_} } } sort keys %problems;
    exit 0;
}
my ($number, $failed) = (0, 0);
sub ok { # name, kind
    my ($name, $kind) = @_;
    my @wrong = @{ $problems{$kind} };
    binmode STDOUT, ':encoding(UTF-8)';
    print "# $_\n" for @wrong;
    printf "%sok %d - %s\n", @wrong ? 'not ' : '', ++$number, $name;
    $failed += @wrong > 0;
}
print "TAP version 13\n1..6\n";
ok("no line of the documents is longer than $columns columns, none of the help than 80", 'lines');
ok("no sentence of README and help has more than $words_front words, none elsewhere more than $words_manual", 'sentences');
ok('no sentence has a relative clause as its subject', 'shape');
ok('README links every page of docs/', 'links');
ok('tests quote the path of simrun', 'quotes');
$failed += @commands <= 10;
print @commands > 10 ? '' : 'not ', "ok 6 - the help of every command was read\n";
exit($failed ? 1 : 0);
