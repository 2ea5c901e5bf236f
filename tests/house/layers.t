#!/usr/bin/perl
# The house: which room may see which, from the real includes and from the symbols of the objects.
#
#   tests/house/layers.t            the test
#   tests/house/layers.t --table    the rooms: files, lines, what each sees (make rooms)
#   tests/house/layers.t --list     the violations; there are none
#   tests/house/layers.t --rooms    writes into each room's own header (sim/messages/messages.h) what it sees, and who sees it
use strict;
use warnings;
use File::Basename;
use File::Find;

my $build = $ENV{BUILD} || 'build';
my @halls = qw(traces recorder sim collectives checker verdict viz cli);

# A hall sees itself and these. <mpi.h>, <mpix.h>, <diff.h> and the systems' own headers are public.
my %hall_sees = (
    traces      => '',
    recorder    => 'traces',
    sim         => 'traces recorder',
    collectives => 'traces recorder',
    checker     => 'traces',
    verdict     => 'traces checker',
    viz         => 'traces checker',
    cli         => 'traces recorder sim collectives checker verdict viz',
);

# A room that sees more than its hall.
my %room_sees = ('checker/explore' => 'sim/worlds'); # it runs worlds

# Within a hall a room sees those before it in its line. Rooms of a hall without a line see each other.
my %order = (
    sim => [qw(base elf debug libc worlds faults datatypes operators memory communicators messages collectives windows communicator_calls failures
               interface programs compile)],
    traces      => [qw(base trace input formats store)],
    checker     => [qw(replay orders explore properties systems)],
    viz         => [qw(paper charts lanes report)],
    cli         => [qw(processes options running telling commands)],
);

sub room_of { my ($path) = @_; return dirname($path) }

sub may_see {
    my ($from, $to) = @_;
    return 1 if $from eq $to;
    return 1 if grep { $_ eq $to } split ' ', $room_sees{$from} // '';
    my ($hall, $room) = split m{/}, $from;
    my ($their_hall, $their_room) = split m{/}, $to;
    return scalar grep { $_ eq $their_hall } split ' ', $hall_sees{$hall} if $hall ne $their_hall;
    return 1 if !defined $their_room || !defined $room || !$order{$hall};    # the door of a hall
    my %at;
    @at{@{ $order{$hall} }} = 1 .. @{ $order{$hall} };
    return 0 if !$at{$room} || !$at{$their_room};
    return $at{$their_room} < $at{$room};
}

# The file that an include means; nothing where it is the system's. Folders that the compiler searches are for programs' headers: of those
# one may be named as programs do.
my @searched = ('sim', 'collectives', glob 'collectives/systems/*');
my %named = map { $_ => 1 } glob('sim/mpi*.h sim/words.h collectives/diff*.h'), map { m{([^/]+)$} ? "$_/$1.h" : () } glob 'collectives/systems/*';
sub file_of {
    my ($path, $what) = @_;
    return $what if -e $what;
    my $beside = dirname($path) . "/$what";
    1 while $beside =~ s{[^/]+/\.\./}{};
    return $beside if -e $beside;
    my ($found) = grep { -e } map { "$_/$what" } @searched;
    return $found && !$named{$found} ? $found : undef;
}

my (%lines, %includes, @prototypes, @machine);
sub read_file {
    my ($path) = @_;
    open my $file, '<', $path or die "$path: $!";
    my $text = do { local $/; <$file> };
    $lines{$path} = ($text =~ tr/\n//);
    while ($text =~ /^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]/mg) {
        my $what = file_of($path, $1);
        push @{ $includes{$path} }, $what if defined $what;
    }
    # What would make a run depend on more than its seed. sim/libc defines these very functions for the ranks.
    if ($path =~ m{^sim/} && $path !~ m{^sim/(?:libc|shims|fortran)/}) {
        (my $code = $text) =~ s{/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"}{ }gs;
        push @machine, "$path calls $1" while $code =~ /(?<![\w.>])(rand|rand_r|random|drand48|lrand48|getrandom|time|gettimeofday|usleep|sleep|nanosleep|clock_nanosleep)\(/g;
    }
    return if $path !~ /\.c$/;
    while ($text =~ /^(?!static|typedef|return|else|_Static_assert)[a-z][\w\s*]*?[\s*](\w+)\([^;{}=]*\);/mg) {
        push @prototypes, "prototype $path $1" if $path !~ m{^sim/libc/};    # those are libc's own
    }
}
find({ no_chdir => 1, wanted => sub { read_file($_) if /\.[ch]$/ } }, grep { -d } @halls);

my (%violations, %sees);
for my $path (sort keys %includes) {
    for my $seen (@{ $includes{$path} }) {
        my ($from, $to) = (room_of($path), room_of($seen));
        next if $to !~ m{^(?:@{[join '|', @halls]})};
        $sees{$from}{$to}++ if $from ne $to;
        $violations{"include $path $to"} = 1 if !may_see($from, $to);
    }
}

# The same by symbols: what the linker joins although no include says so. MPI's own names are public, and so is what the public headers
# declare; libc's names that sim/libc defines anew are libc's.
my (%defined_in, %uses, %public);
for my $header (glob 'sim/*.h collectives/*.h collectives/systems/*/*.h') {
    open my $file, '<', $header or die;
    my $text = do { local $/; <$file> };
    $public{$1} = 1 while $text =~ /[ *](\w+)\(/g;
}
my @objects;
find({ no_chdir => 1, wanted => sub { push @objects, $_ if /\.o$/ && m{^\Q$build\E/obj/(?:@{[join '|', @halls]})/} } }, "$build/obj")
    if -d "$build/obj";
if (@objects) {
    open my $nm, '-|', 'nm', '-A', @objects or die "nm: $!";
    while (<$nm>) {
        next unless m{^\Q$build\E/obj/(\S+)\.o:\S*\s+([A-Za-z])\s+(\S+)};
        my ($object, $kind, $symbol) = ($1, $2, $3);
        next unless -e "$object.c";
        if ($kind eq 'U') { $uses{$object}{$symbol} = 1 } elsif ($kind =~ /[TDBRV]/) { $defined_in{$symbol} //= $object }
    }
    close $nm;
    for my $object (sort keys %uses) {
        for my $symbol (sort keys %{ $uses{$object} }) {
            my $there = $defined_in{$symbol} or next;
            next if $symbol =~ /^P?MPIX?_|^SIM_/ || $public{$symbol};
            my ($from, $to) = (room_of($object), room_of($there));
            next if $to eq 'sim/libc' && $symbol !~ /^sim_|^libc_/;
            $violations{"symbol $from $to"} = 1 if !may_see($from, $to) && !$violations{"include $object.c $to"};
        }
    }
}

# Circles: a header and its source are one object; objects that include each other, directly or round about. A header without a source is
# no object: whoever includes it includes what it includes.
my (%edges, %index, %low, %on, @stack, $counter);
my $circles = 0;
sub objects_of {
    my ($path, $passed) = @_;
    (my $object = $path) =~ s/\.[ch]$//;
    return $object if -e "$object.c";
    return () if $passed->{$path}++;
    return map { objects_of($_, $passed) } @{ $includes{$path} || [] };
}
for my $path (keys %includes) {
    (my $object = $path) =~ s/\.[ch]$//;
    next if !-e "$object.c";
    for my $other (map { objects_of($_, {}) } @{ $includes{$path} }) {
        $edges{$object}{$other} = 1 if $object ne $other;
    }
}
sub visit {
    my ($at) = @_;
    no warnings 'recursion';
    $index{$at} = $low{$at} = ++$counter;
    push @stack, $at;
    $on{$at} = 1;
    for my $next (sort keys %{ $edges{$at} || {} }) {
        if (!$index{$next}) {
            visit($next);
            $low{$at} = $low{$next} if $low{$next} < $low{$at};
        } elsif ($on{$next} && $index{$next} < $low{$at}) {
            $low{$at} = $index{$next};
        }
    }
    return if $low{$at} != $index{$at};
    my @circle;
    do { push @circle, pop @stack; $on{ $circle[-1] } = 0 } while $circle[-1] ne $at;
    return if @circle == 1;
    $circles++;
    $violations{"circle $_"} = 1 for @circle;
}
visit($_) for grep { !$index{$_} } sort keys %edges;
for (@prototypes) { # assembler in the same file defines some
    my (undef, $path, $name) = split;
    my $there = $defined_in{$name} or next;
    $violations{$_} = 1 if "$there.c" ne $path;
}

my %rooms;
for my $path (sort keys %lines) {
    $rooms{ room_of($path) }{files}++;
    $rooms{ room_of($path) }{lines} += $lines{$path};
}
my $mode = $ARGV[0] // '';
if ($mode eq '--list') {
    print "$_\n" for sort keys %violations;
    exit 0;
}
if ($mode eq '--table') {
    printf "%-34s %5s %6s  %s\n", 'room', 'files', 'lines', 'sees (includes)';
    for my $room (sort keys %rooms) {
        my @seen = map { "$_ ($sees{$room}{$_})" } sort keys %{ $sees{$room} || {} };
        printf "%-34s %5d %6d  %s\n", $room, $rooms{$room}{files}, $rooms{$room}{lines}, join ', ', @seen;
    }
    printf "%d rooms, %d files, %d lines; circles between files: %d\n", scalar keys %rooms, scalar keys %lines,
        eval { my $sum = 0; $sum += $_ for values %lines; $sum }, $circles;
    exit 0;
}

# A room's own header ends its head comment with what it sees and who sees it: rooms of its hall, and other halls.
sub listed {
    my ($room, @others) = @_;
    my ($hall) = split m{/}, $room;
    my (%own, %far);
    for my $other (@others) { $other =~ m{^\Q$hall\E(?:/|$)} ? $own{$other} = 1 : ($far{ (split m{/}, $other)[0] } = 1) }
    return join '; ', grep { length } join(', ', sort keys %own), join(', ', sort keys %far);
}
my %seen_by;
for my $room (keys %sees) { push @{ $seen_by{$_} }, $room for keys %{ $sees{$room} } }
my @headers;
for my $room (sort keys %rooms) {
    my $header = "$room/" . basename($room) . '.h';
    my $should = 'Room: sees ' . (listed($room, keys %{ $sees{$room} || {} }) || 'nothing') . '. Seen by ' . (listed($room, @{ $seen_by{$room} || [] }) || ($room eq 'cli' ? 'nobody' : 'programs')) . '.';
    my $text = -e $header ? do { open my $file, '<', $header or die "$header: $!"; local $/; <$file> } : '';
    my ($is) = $text =~ m{^(?:(?!\*/).)*?\n \* (Room: (?:(?!\*/).)*?) ?\*/}s;
    (my $plain = $is // '') =~ s/\n \* / /g;
    next if $plain eq $should;
    if ($mode eq '--rooms' && defined $is) {
        my ($wrapped, $line) = ('', ' *');
        for my $word (split / /, $should) {
            if (length("$line $word") > 96) { $wrapped .= "$line\n"; $line = ' *' }
            $line .= " $word";
        }
        (my $written = "$wrapped$line") =~ s/^ \* //;
        $text =~ s/\Q$is\E/$written/;
        open my $file, '>', $header or die "$header: $!";
        print $file $text;
        close $file or die "$header: $!";
        next;
    }
    push @headers, defined $is ? "$header says \"$plain\"; the includes say \"$should\" (mended by tests/house/layers.t --rooms)" : "$header has no line \"$should\"";
}
exit 0 if $mode eq '--rooms';

# How many files lie in each folder, tests included. The catalogue and pictures are lists, not rooms.
my %counted;
find({ no_chdir => 1, wanted => sub { $counted{ dirname($_) }++ if -f } }, grep { -d } @halls, 'tests', 'bench');
my @wide = grep { $counted{$_} > 30 && $_ !~ m{/(corpus|golden|data|examination|programs)\b} } sort keys %counted;

my @found = grep { @objects || !/^(?:symbol|prototype)/ } sort keys %violations;

my ($number, $failed) = (0, 0);
sub ok {
    my ($name, @problems) = @_;
    print "# $_\n" for @problems;
    printf "%sok %d - %s\n", @problems ? 'not ' : '', ++$number, $name;
    $failed += @problems > 0;
}
print "TAP version 13\n1..6\n";
ok('every room sees only what lies below it, by includes', grep { /^include/ } @found);
ok('and by symbols' . (@objects ? '' : ' # SKIP no objects in ' . $build), grep { /^symbol/ } @found);
ok('no object includes itself round about, and no source declares what another defines', grep { /^circle|^prototype/ } @found);
ok('no folder holds more than 30 files', map { "$_ holds $counted{$_}" } @wide);
ok("the machine's only source of chance is choose()", @machine);
ok('every room has a header of its name that says what it sees and who sees it', @headers);
exit($failed ? 1 : 0);
