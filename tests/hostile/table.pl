#!/usr/bin/perl
# table.pl: every program of ways.tsv on every executor (make hostile): the codes found, the exit status, whether the run is in the database;
# at the end whether the runs before are whole and nobody is left behind. ONLY=word: rows with this word; RANKS=64; JOBS=8 rows at a time.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use lib dirname(abs_path($0));
use ways;

my $ranks = $ENV{RANKS} || 4;
my $jobs = $ENV{JOBS} || 4;
my $only = $ENV{ONLY} // '';
my @rows = grep { "$_->{source} $_->{way} $_->{moment}" =~ /\Q$only\E/ } ways::rows(1);
my $folder = tempdir(CLEANUP => 1);
$ENV{SIMRUN_CACHE} = "$folder/cache";
$| = 1;
print "| program | expected | " . join(' | ', map { $_->[0] } @ways::executors) . " |\n|---|---|" . '---|' x @ways::executors . "\n";

# A job has a folder and a database of its own, and says what it saw in a file of its own.
my @children;
for my $job (0 .. $jobs - 1) {
    my $child = fork // die;
    push @children, $child;
    next if $child;
    mkdir "$folder/$job";
    chdir "$folder/$job" or die;
    open my $said, '>', 'said' or die;
    my ($wrong, $hung, $lost) = (0, 0, 0);
    ways::begin() or die;
    for (my $i = $job; $i < @rows; $i += $jobs) {
        my $row = $rows[$i];
        my @cells;
        for my $executor (@ways::executors) {
            my ($good, $cell, $why) = ways::judge($row, $executor, $ranks);
            $wrong += !$good;
            $hung += $cell =~ /HANGS/;
            $lost += $cell =~ /NOT STORED/;
            push @cells, $good ? $cell : "**$cell**";
            print $said "\n$row->{source} $row->{way} $row->{moment}, $executor->[0]:\n$why" if !$good;
        }
        my $expected = $row->{code} eq '-' ? 'ends well' : $row->{code} =~ s/\|/ or /gr;
        syswrite STDOUT, '| ' . join(' | ', "$row->{source} $row->{way} $row->{moment}" =~ s/ +$//r, $expected, @cells) . " |\n";
    }
    print $said "\ncounts $wrong $hung $lost " . (ways::whole() ? 1 : 0) . "\n";
    close $said;
    exec 'true'; # the folder is not this process's to remove
}
my ($wrong, $hung, $lost, $whole) = (0, 0, 0, 0);
for my $job (0 .. $jobs - 1) {
    waitpid $children[$job], 0;
    my $said = ways::slurp("$folder/$job/said");
    ($said =~ s/\ncounts (\d+) (\d+) (\d+) (\d)\n//) or die "a job of the table ended early";
    $wrong += $1, $hung += $2, $lost += $3, $whole += $4;
    print STDERR $said;
}
my @left = ways::left_behind();
printf "\n%d programs x %d executors, %d ranks: %d not as expected, %d hung, %d not stored; runs before them %s; %d processes left behind\n",
    scalar @rows, scalar @ways::executors, $ranks, $wrong, $hung, $lost, $whole == $jobs ? 'whole' : 'LOST', scalar @left;
exit($wrong || $hung || $lost || $whole != $jobs || @left ? 1 : 0);
