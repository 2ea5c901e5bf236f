#!/usr/bin/perl
# Every command of README and docs is run, in the order of the page, in a folder of its own.
#
# In a block, a line "$ command" is followed by what it prints: compared line by line, times left out, a line "..." for any lines. Other
# lines that begin with simrun, and commands between backquotes, must not be refused: exit 0, 1 or 6, or the status that a comment
# "# exit N" names. A comment that begins with a finding's code must find it. Commands with placeholders in capitals (FILE, RUN) are
# grammar. A command whose last word is "full" runs without it, unless FULL=1 is set.
use strict;
use warnings;
use Cwd 'abs_path';
use File::Copy;
use File::Temp 'tempdir';

my $top    = abs_path('.');
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = tempdir(CLEANUP => 1);
$ENV{SIMRUN_CACHE} = "$folder/cache";
$ENV{COLUMNS}      = 80;
$ENV{NO_COLOR}     = 1;
(my $bin = $simrun) =~ s{/[^/]*$}{};
$ENV{PATH} = "$bin:$ENV{PATH}";
delete $ENV{HARNESS_ACTIVE};

if (($ENV{BUILD} || 'build') ne 'build') {
    print "1..0 # SKIP the plain build runs the commands of the documents\n";
    exit 0;
}
my $number = 0;
sub ok {
    my ($good, $name, @why) = @_;
    $name =~ s/#/\\#/g;
    printf "%sok %d - %s\n", $good ? '' : 'not ', ++$number, $name;
    print map { "# $_\n" } map { split /\n/ } grep { defined } @why if !$good;
}

sub run {
    my ($command) = @_;
    $command =~ s{^build/simrun\b}{simrun};
    $command =~ s/ full$// unless $ENV{FULL};
    my $said = `cd '$folder/work' && timeout 120 sh -c '${\ ($command =~ s/'/'\\''/gr)}' 2>&1 </dev/null`;
    return ($said, $? >> 8);
}

sub plain {
    my ($text) = @_;
    $text =~ s/\(?\b[\d.]+ (?:ms|s|us)\b\)?/TIME/g;
    $text =~ s/\s+/ /g;
    return $text;
}

# Does `said` begin with `wanted`, where a line of "..." stands for any lines?
sub fits {
    my ($said, $wanted) = @_;
    my $pattern = join '', map { /^\.\.\.$/ ? '.*' : quotemeta(plain($_)) . '\s*' } split /\n/, $wanted;
    # where the time went is told of a run that took long, on a busy machine
    my $flat = join '', map { plain($_) . ' ' } grep { !/^  time  / } split /\n/, $said;
    $pattern =~ s/\\ (?=\\s|$)//g;
    return $flat =~ /^\s*$pattern\s*$/s;
}

sub check_command {
    my ($where, $command) = @_;
    my $comment = $command =~ s/\s+#\s*(.*)$// ? $1 : '';
    return if $command =~ /(?<![\w.-])[A-Z]{3,}(?![\w.-]*[a-z=])(?!_)/ && $command !~ /SELECT|[A-Z]\d{3}/ || $command =~ /\.\.\.|<|\bRUN\b/;
    return if $command =~ /^(?:build\/)?simrun [a-z]+$/ && $command =~ / (?:run|prove|check|replay|graph|export|import|query|diff|explain)$/; # a name
    my ($said, $status) = run($command);
    my $expected = $comment =~ /exit (\d+)/ ? $1 : undef;
    my $good = defined $expected ? $status == $expected : $status == 0 || $status == 1 || $status == 6;
    my ($code) = $comment =~ /^([A-Z]\d{3})\b/;
    $good &&= $said =~ /\b$code\b/ if $code;
    ok($good, "$where: $command", "exit $status", (split /\n/, $said)[0 .. 3] );
}

# What pages take for granted: a program of the user's own (README's), a schedule, a run in the database.
mkdir "$folder/work";
copy("$top/tests/fuzz/corpus/csv/interleaved.csv", "$folder/work/schedule.csv");
copy("$top/tests/fuzz/corpus/jsonl/all.jsonl", "$folder/work/trace.jsonl");

for my $page ('README.md', sort glob 'docs/*.md') {
    open my $file, '<', $page or die "$page: $!";
    my @lines = map { chomp; $_ } <$file>;
    my $in_block = 0;
    for (my $i = 0; $i < @lines; $i++) {
        my $where = "$page:" . ($i + 1);
        if ($lines[$i] =~ /^```(\w*)/) {
            $in_block = !$in_block;
            if ($in_block && $1 eq 'c') { # the program that the page shows is the user's own
                my $text = '';
                $text .= "$lines[$i]\n" while $lines[++$i] !~ /^```/;
                $in_block = 0;
                next if $text !~ /int main/;
                open my $out, '>', "$folder/work/prog.c";
                print $out $text;
            }
            next;
        }
        if ($in_block && $lines[$i] =~ /^\$ (.+)/) {
            my $command = $1;
            my @wanted;
            push @wanted, $lines[++$i] while $lines[$i + 1] !~ /^(?:```|\$ )/;
            my ($said, $status) = run($command);
            my $expected = $command =~ /# exit (\d+)/ ? $1 : $said =~ /^FAIL/m ? 1 : 0;
            ok(fits($said, join "\n", @wanted) && $status == $expected, "$where: $command", "exit $status", $said);
        } elsif ($in_block) {
            check_command($where, $lines[$i]) if $lines[$i] =~ /^(?:build\/)?simrun /;
        } else {
            my $line = $lines[$i];
            check_command($where, $1) while $line =~ /`((?:build\/)?sim(?:run|cc) [^`]+)`/g;
        }
    }
}
# A file that a page names is there.
for my $page ('README.md', 'CONTRIBUTING.md', glob 'docs/*.md') {
    open my $file, '<', $page or die "$page: $!";
    my @missing;
    while (<$file>) {
        push @missing, "line $.: $1"
            while /(?<![\w\/.])((?:traces|recorder|sim|collectives|checker|verdict|viz|cli|tests|docs|scenarios)\/[\w\/.-]+\.(?:c|h|t|sql|md|txt))\b/g
            && !-e $1 && $1 !~ /NAME/;
    }
    ok(!@missing, "$page: the files it names are there", @missing);
}
print "1..$number\n";
