#!/usr/bin/perl
# "To change X, open Y", the table of docs/architecture.md, tried: make changes.
#
# Every row of the table has a change in changes.txt. In a copy of the tree (build/changes, with its objects, so that only what
# changed is compiled) a command says X; then the change is made in the files that the row names and in no others, the tree is
# built, the same command says Y, and the change is undone. So a row fails when another file has to be opened, too, or when the
# code has moved; and so does a row without a change, or a change without a row.
#
#   ONLY=PATTERN  rows whose first cell it matches
#   KEEP=1        the copy stays as the last change left it
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Find qw(find);
use File::Path qw(make_path remove_tree);

my $build = $ENV{BUILD} || 'build';
my $only = $ENV{ONLY} // '';
my ($copy, $kept, $work) = map { "$build/changes/$_" } qw(tree kept work); # changed; not changed; where commands run
my @parts = qw(traces recorder sim collectives checker verdict viz cli scenarios Makefile);
my @built = map { "$build/$_" } qw(gen include lib simrun simcc simc++ simfort), map { "obj/$_" } qw(traces recorder sim collectives checker verdict viz cli);

sub slurp { my ($path) = @_; open my $in, '<', $path or die "$path: $!\n"; local $/; return <$in> }
sub spew { my ($path, $text) = @_; open my $out, '>', $path or die "$path: $!\n"; print $out $text; close $out or die "$path: $!\n" }

my $number = 0;
sub ok {
    my ($good, $name, @said) = @_;
    print map { "# $_\n" } map { split /\n/ } @said if !$good;
    printf "%sok %d - %s\n", $good ? '' : 'not ', ++$number, $name;
    return $good;
}

# ---- what is to be tried ----

# The table of the page: [first cell, files], in its order.
sub rows_of_page {
    my ($section) = slurp('docs/architecture.md') =~ /^## To change X, open Y\n(.*?)(?=^## |\z)/ms or die "docs/architecture.md: no section 'To change X, open Y'\n";
    my @rows;
    for (split /\n/, $section) {
        next if !/^\| (.*?) \| (.*) \|$/ || $1 eq 'to change';
        my ($what, $cell) = ($1, $2);
        push @rows, [$what, [$cell =~ /`([^`]+)`/g]];
    }
    return @rows;
}

# changes.txt says what its lines mean. A change: edits [path, old, new], programs [name, text], command, before and after (patterns).
sub changes {
    my ($path) = @_;
    my (@changes, $edit, $program);
    for (split /\n/, slurp($path)) {
        my $change = $changes[-1];
        if ($program) {
            if ($_ eq '>>>') { $program = undef; next }
            $program->[1] .= "$_\n";
            next;
        }
        if (/^=== (.*)/) { push @changes, { what => $1, edits => [], programs => [], before => [], after => [], command => '' }; $edit = undef }
        elsif (/^--- (\S+)$/) { push @{ $change->{edits} }, $edit = [$1, '', ''] }
        elsif ($edit && /^([ +-])(.*)/s) {
            $edit->[1] .= "$2\n" if $1 ne '+';
            $edit->[2] .= "$2\n" if $1 ne '-';
        }
        elsif (/^<<< (\S+)$/) { push @{ $change->{programs} }, $program = [$1, '']; $edit = undef }
        elsif (/^\$ (.*)/) { $change->{command} .= "$1\n"; $edit = undef }
        elsif (/^(before|after): (.*)/) { push @{ $change->{$1} }, $2 }
        elsif (/^needs: (.*)/) { $change->{needs} = $1 }
        elsif (/^\s*$|^#/) { $edit = undef }
        else { die "$path: not understood: $_\n" }
    }
    return @changes;
}

# ---- the copy ----

sub copy_tree {
    my ($to) = @_;
    remove_tree($to);
    make_path(map { dirname("$to/$_") } @built);
    system('cp', '-a', @parts, $to) == 0 or die "cannot copy the tree to $to\n";
    for (@built) { system('cp', '-a', $_, dirname("$to/$_")) == 0 or die "cannot copy $_\n" }
}

sub build {
    my @settings = map { "$_=$ENV{$_}" } grep { length($ENV{$_} // '') } qw(CC SAN);
    open my $make, '-|', 'sh', '-c', 'exec "$@" 2>&1', 'sh', 'make', '-s', '-j2', '-C', $copy, "BUILD=$build", 'WERROR=1', @settings, @_ or die "make: $!\n";
    my $said = do { local $/; <$make> } // '';
    return close($make) ? undef : $said;
}

# All that is newer than the stamp, as it was. The tree itself may have changed meanwhile.
sub undo {
    my ($stamp) = @_;
    for my $path (split /\n/, `find $copy '(' -type f -o -type l ')' -newer $stamp`) {
        my $original = $kept . substr $path, length $copy;
        unlink $path;
        system('cp', '-a', $original, $path) == 0 or die "cannot restore $path\n" if -e $original;
    }
}

my $home = abs_path('.');
sub output_of {
    my ($change) = @_;
    remove_tree($work);
    make_path($work);
    spew("$work/$_->[0]", $_->[1]) for @{ $change->{programs} };
    spew("$work/command", $change->{command});
    my $here = "$home/$copy";
    local %ENV = (%ENV, PATH => "$here/$build:$ENV{PATH}", COLUMNS => 200, SIMRUN_CACHE => "$home/$build/changes/cache", TZ => 'UTC', LC_ALL => 'C.UTF-8',
        LIBRARIES => "$here/$build/lib", DATA => "$home/tests/data");
    delete @ENV{qw(SIMRUN BUILD MAKEFLAGS)};
    return scalar `cd $work && timeout 120 sh command 2>&1`;
}

# The first line of a pattern, for a reader.
sub plain { my ($pattern) = @_; $pattern =~ s/\\n.*//; $pattern =~ s/[\\^\$+]| \*(?=\d)//g; $pattern =~ s/\s+\(?$//; return "\"$pattern\"" }

# Why what was said is not what these patterns ask for; nothing where it is.
sub differs {
    my ($said, $when, $wanted, $unwanted) = @_;
    my @missing = grep { $said !~ /$_/m } @$wanted;
    my @shared = grep { $said =~ /$_/m } @$unwanted;
    return !@missing && !@shared ? () : ((map { "$when the change it does not say: $_" } @missing), (map { "$when the change it says what it should say only " . ($when eq 'before' ? 'after' : 'before') . " it: $_" } @shared), 'but:', $said);
}

# ---- trying one ----

# Makes the edits; why it cannot.
sub edit {
    my ($change) = @_;
    for my $edit (@{ $change->{edits} }) {
        my ($path, $old, $new) = @$edit;
        if ($old eq '' && !-e "$copy/$path") { spew("$copy/$path", $new); next }
        chomp($old, $new);
        my $text = slurp("$copy/$path");
        my $times = () = $text =~ /\Q$old\E/g;
        return "$path: the lines to be changed are there $times times. The code has moved: mend the change, and see whether the row is still true.", $old if $times != 1;
        $text =~ s/\Q$old\E/$new/;
        spew("$copy/$path", $text);
    }
    return;
}

sub try_change {
    my ($change) = @_;
    return 'a change has edits, a command, and patterns before: and after:' if grep { !length || ref && !@$_ } @$change{qw(edits command before after)};
    my @problems = differs(output_of($change), 'before', @$change{qw(before after)});
    return @problems if @problems;
    @problems = edit($change);
    return @problems if @problems;
    my $failed = build('all');
    return 'it does not build:', $failed if defined $failed;
    return differs(output_of($change), 'after', @$change{qw(after before)});
}

$| = 1;
my @rows = rows_of_page();
my @changes = changes(dirname($0) . '/changes.txt');
my %change_of = map { $_->{what} => $_ } @changes;
my %row_of = map { $_->[0] => $_ } @rows;
printf "TAP version 13\n1..%d\n", 2 + grep { $_->[0] =~ /$only/ } @rows;
ok(!(grep { !$row_of{ $_->{what} } } @changes) && @changes == keys %change_of, 'every change is of one row of the table',
    map { "docs/architecture.md has no row '$_->{what}'" } grep { !$row_of{ $_->{what} } } @changes);
copy_tree($_) for $copy, $kept;
if (defined build('-q', 'all')) { print "Bail out! $build is not up to date: make all\n"; exit 1 }
my $stamp = "$build/changes/stamp";
for my $row (@rows) {
    my ($what, $files) = @$row;
    next if $what !~ /$only/;
    my $change = $change_of{$what};
    if (!$change) { ok(0, $what, 'nobody has tried this row: add a change to tests/house/changes.txt'); next }
    my %edited = map { $_->[0] => 1 } grep { -e $_->[0] } @{ $change->{edits} };
    my ($named, $opened) = (join(', ', sort @$files), join(', ', sort keys %edited));
    if ($named ne $opened) { ok(0, $what, "the row names $named", "the change needs $opened"); next }
    if ($change->{needs} && !glob "$build/$change->{needs}") { ok(1, "$what # SKIP no $build/$change->{needs}"); next }
    spew($stamp, '');
    my @problems = try_change($change);
    last if $ENV{KEEP} && ok(!@problems, $what, @problems) >= 0;
    undo($stamp);
    ok(!@problems, "$what: in $opened, " . plain($change->{before}[0]) . ' becomes ' . plain($change->{after}[0]), @problems);
}
my $left = build('-q', 'all');
ok(!defined $left && !system('cmp', '-s', map { "$_/$build/simrun" } $copy, $kept), 'and all is undone', $left // "$copy/$build/simrun is not as it was");
