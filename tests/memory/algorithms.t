#!/usr/bin/perl
# What programs with windows are written for, whole: halos, rings, transposes, histograms, locks of tickets and of queues, lists in dynamic
# windows, tables, task queues, in C, C++ and Fortran. Each file of algorithms/ is a right program and its wrong twins. Its head says
# what they are: "ranks: 2..4", then "NAME: CODES" for each twin ("OK": right, too), with "(any line)" where the place is a library's. The
# comment at the end of a line says in which twins it stands: "-NAME" not in this one, "+NAME" only in this one (no tag of this kind: in
# all); "@NAME": the finding of this twin is here; "=NAME": it names this line, too. Of each file the right program and one twin are tried;
# ALL=1: all; PATTERN=halo: those.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Glob qw(:bsd_glob);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = scratch_folder();
my $sources = dirname(abs_path($0)) . '/algorithms';
my $pattern = $ENV{PATTERN} // '.';

# name of the twin => [codes, whether the line counts]
sub twins {
    my ($mark, @lines) = @_;
    my %twins = (right => ['OK', 0]);
    for (@lines) {
        $twins{$1} = [$2, $2 ne 'OK' && !$3] if /^\Q$mark\E (\w+): ((?:OK|[A-Z]\d{3})(?: [A-Z]\d{3})*)( \(any line\))?$/;
    }
    return %twins;
}

# Writes a twin; the numbers of the lines where its finding is.
sub expand {
    my ($path, $mark, $twin, @lines) = @_;
    my (%places, %named);
    open my $out, '>', $path or die;
    for my $number (1 .. @lines) {
        my ($code, $tags) = $lines[$number - 1] =~ /^(.*?)(?:\Q$mark\E ((?:[-+@=]\w+ ?)+))?\n/;
        my %tag = map { $_ => 1 } split ' ', $tags // '';
        my $in = (grep { /^\+/ } keys %tag) ? $tag{"+$twin"} : !$tag{"-$twin"};
        print $out $in ? $code : '', "\n";
        $places{$number} = 1 if $in && $tag{"\@$twin"};
        $named{$number} = 1 if $in && $tag{"=$twin"};
    }
    close $out;
    return (\%places, \%named);
}

sub try {
    my ($name, $ranks, $codes, $places, $named) = @_;
    my ($file) = $name =~ m{([^/]+)$};
    my $said = `timeout 120 '$simrun' prove --db none -n $ranks $name 2>&1`;
    my %found = map { $_ => 1 } $said =~ /^([A-Z]\d{3}) /mg;
    is(join(' ', sort keys %found) || ($said =~ /^(?:PROVEN|PASS)/m ? 'OK' : $said), $codes, $file) or diag($said);
    return unless $places;
    my @told = $said =~ /\Q$file\E:(\d+)/g;
    ok((grep { $places->{$_} } @told), '... at its line') or diag($said);
    my %told = map { $_ => 1 } @told;
    is(join(' ', grep { !$told{$_} } sort keys %$named), '', '... and the line of the other side, though a library does it') or diag($said);
    my @blamed = grep { !$places->{$_} } $said =~ /\Q$file\E:(\d+)\s+\(culprit/g;
    is("@blamed", '', '... and nothing else is to blame');
}

my $turn = 0;
for my $path (sort glob "$sources/*.{c,cc,f90}") {
    my ($base, $suffix) = $path =~ m{([^/]+)\.(\w+)$};
    my $compiler = {cc => "g++", f90 => "gfortran"}->{$suffix} // "true";
    if (system("command -v $compiler >/dev/null")) {
        SKIP: { skip "$base: $compiler is not installed", 1 }
        next;
    }
    my $mark = $suffix eq 'f90' ? '!' : '//';
    open my $file, '<', $path or die;
    my @lines = <$file>;
    my ($ranks) = "@lines" =~ /ranks: (\S+)/;
    my %twins = twins($mark, @lines);
    my @wrong = sort grep { $_ ne 'right' } keys %twins;
    @wrong = $wrong[$turn++ % @wrong] unless $ENV{ALL};
    for my $twin (grep { "$base-$_" =~ /$pattern/ } 'right', @wrong) {
        my ($codes, $lines) = @{$twins{$twin}};
        my $name = "$folder/$base-$twin.$suffix";
        my ($places, $named) = expand($name, $mark, $twin, @lines);
        try($name, $ranks, $codes, $lines ? $places : undef, $named);
    }
}
done_testing;
