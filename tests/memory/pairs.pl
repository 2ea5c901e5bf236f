#!/usr/bin/perl
# pairs.pl [CASES [FIRST]]: pairs of accesses to a window under every kind of synchronisation, run by
# simrun (actor.c), and judged here by brute force: every interleaving of the ranks' steps that MPI
# allows is walked, and two conflicting accesses that are under way at once are a race (B003). What
# each call forces is written from MPI's sentences, below; nothing is shared with the checker.
# Prints a table rule x verdict, and each case that differs; exit 1 where one does.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $actor = dirname(abs_path($0)) . '/actor.c';
my $ranks = 3;

# --- what MPI says ---------------------------------------------------------------------------------

my %atomic = map { $_ => 1 } qw(a Q b c d n h f s);
my %updates = map { $_ => 1 } qw(p P a Q b c d h f s S R I);
my %local = map { $_ => 1 } qw(L S V R I);
# "Completion of a get at its origin": its data are there, so it has read. Accumulates that fetch
# update the target too, which a local completion does not promise.
my %fetches_only = map { $_ => 1 } qw(g G n);
my %operation = (a => 'sum', Q => 'sum', h => 'sum', f => 'sum', b => 'prod', c => 'replace', d => 'sum', n => '', s => '');

sub places {
    my ($place, $shape) = @_;
    return $shape eq '1' ? ($place) : $shape eq '2' ? ($place, $place + 1) : ($place, $place + 2);
}

sub conflict {
    my ($a, $b) = @_;
    return 0 if $a->{at} != $b->{at} || !($updates{$a->{kind}} || $updates{$b->{kind}});
    return 0 if $local{$a->{kind}} && $local{$b->{kind}};
    my %mine = map { $_ => 1 } @{$a->{places}};
    return 0 unless grep { $mine{$_} } @{$b->{places}};
    return 1 unless $atomic{$a->{kind}} && $atomic{$b->{kind}};
    return 1 if ($a->{kind} eq 'd') != ($b->{kind} eq 'd');    # not the same basic type
    return 0 if $a->{rank} == $b->{rank};    # "strict ordering" of one origin's, whatever they compute
    my ($one, $other) = @operation{$a->{kind}, $b->{kind}};
    return $one ne '' && $other ne '' && $one ne $other;
}

# The steps of each rank: [kind, ...]; an access begins in one and is over by its conditions.
sub steps_of {
    my (@programs) = @_;
    my (@steps, @accesses);
    for my $rank (0 .. $ranks - 1) {
        my @mine;
        for my $word (@{$programs[$rank]}) {
            my ($kind, @fields) = (substr($word, 0, 1), split /,/, substr($word, 1));
            if ($kind =~ /[pPgGaQbcdnhfs]/) {
                push @mine, ['access'];
                push @accesses, {kind => $kind, rank => $rank, at => $fields[0], begin => $#mine, word => $word,
                    places => [places(@fields[1, 2])]};
            } elsif ($local{$kind}) {
                my @where = $kind =~ /[LS]/ ? @fields : @fields[1, 2];
                push @mine, ['access'];
                push @accesses, {kind => $kind, rank => $rank, at => $rank, begin => $#mine, word => $word, places => [places(@where)]};
                push @mine, ['send', $fields[0]] if $kind eq 'V';
                push @mine, ['take', $fields[0]] if $kind eq 'R';
                push @mine, ['step'] if $kind =~ /[LSV]/;
                $accesses[-1]{end} = $#mine if $kind ne 'I';
                $accesses[-1]{posted} = $fields[0] if $kind eq 'I';
            } elsif ($kind eq 'F' || $kind eq 'N') {
                push @mine, [$kind], ["$kind-leave"];
            } elsif ($kind eq 'U' || $kind eq 'Z') {
                push @mine, [$kind, @fields], ["$kind-release", @fields];
            } elsif ($kind eq 'm' || $kind eq 'v') {
                push @mine, [$kind eq 'm' ? 'send' : 'give', $fields[0]];
            } elsif ($kind eq 'w') {
                push @mine, ['receive', $fields[0]];
            } elsif ($kind eq 'k') {
                my @posted = grep { $_->{rank} == $rank && defined $_->{posted} && !defined $_->{end} } @accesses;
                push @mine, ['take', $_->{posted}] for @posted;
                push @mine, ['k'];
                $_->{end} = $#mine for @posted;
            } elsif ($kind !~ /[xye]/) {
                push @mine, [$kind, @fields];
            }
        }
        push @steps, \@mine;
    }
    return (\@steps, \@accesses);
}

sub nth {    # index of the n-th step of a rank that fits
    my ($steps, $fits, $n) = @_;
    for my $i (0 .. $#$steps) {
        return $i if $fits->($steps->[$i]) && !$n--;
    }
    return undef;
}

sub before { my ($steps, $fits, $end) = @_; return scalar grep { $fits->($steps->[$_]) } 0 .. $end - 1 }

sub is { my ($kind, $group) = @_; return sub { $_[0][0] eq $kind && (!defined $group || index($_[0][1] // '', $group) >= 0) } }

# What a step waits for: pairs of rank and step that must be behind; undef: never.
sub needs {
    my ($steps, $rank, $i) = @_;
    my $mine = $steps->[$rank];
    my ($kind, $field) = @{$mine->[$i]};
    my @needs;
    if ($kind =~ /^([FN])-leave/ || $kind eq 'j') {    # all have called it
        my $call = $kind eq 'j' ? 'i' : $1;
        my $n = before($mine, is($kind), $i);
        push @needs, [$_, nth($steps->[$_], is($call), $n)] for 0 .. $ranks - 1;
    } elsif ($kind eq 'receive') {
        push @needs, [$field, nth($steps->[$field], is('send', $rank), before($mine, is('receive', $field), $i))];
    } elsif ($kind eq 'take') {
        push @needs, [$field, nth($steps->[$field], is('give', $rank), before($mine, is('take', $field), $i))];
    } elsif ($kind eq 'B') {    # each target has posted
        push @needs, [$_, nth($steps->[$_], is('T', $rank), before($mine, is('B', $_), $i))] for split //, $field;
    } elsif ($kind eq 'W') {    # each origin has completed
        my $n = before($mine, is('W'), $i);
        my $post = nth($mine, is('T'), $n);
        for my $origin (defined $post ? split //, $mine->[$post][1] : ()) {
            my $start = nth($steps->[$origin], is('B', $rank), before($mine, is('T', $origin), $post));
            my $theirs = $steps->[$origin];
            push @needs, [$origin, defined $start ? nth($theirs, is('C'), before($theirs, is('C'), $start)) : undef];
        }
    }
    return \@needs;
}

# Ways an access ends: each a list of steps that must all be behind.
sub ends {
    my ($steps, $access) = @_;
    my ($rank, $to) = @$access{qw(rank at)};
    my $mine = $steps->[$rank];
    return [[[$rank, $access->{end}]]] if $local{$access->{kind}} && defined $access->{end};
    return [] if $local{$access->{kind}};
    my @ways;
    my $fetches = $fetches_only{$access->{kind}};
    for my $i ($access->{begin} + 1 .. $#$mine) {
        my ($kind, $field) = @{$mine->[$i]};
        push @ways, [[$rank, $i]] if $kind =~ /^[uU]$/ && $field == $to || $kind =~ /^[YZ]$/;
        push @ways, [[$rank, $i]] if $fetches && ($kind eq 'l' && $field == $to || $kind =~ /^[OC]$/ || ($kind eq 'k' && $access->{kind} eq 'G'));
        if ($kind eq 'F') {    # the fence completes it before anyone goes on
            my $n = before($mine, is('F'), $i);
            push @ways, [map { [$_, nth($steps->[$_], is('F'), $n)] } 0 .. $ranks - 1];
        }
    }
    # Complete ends an update at the origin only; at the target it is MPI_Win_wait that does.
    my $start;
    for my $i (0 .. $access->{begin}) {
        $start = $i if is('B', $to)->($mine->[$i]);
        undef $start if $mine->[$i][0] eq 'C';
    }
    if (defined $start) {
        my $theirs = $steps->[$to];
        my $post = nth($theirs, is('T', $rank), before($mine, is('B', $to), $start));
        my $wait = defined $post ? nth($theirs, is('W'), before($theirs, is('W'), $post)) : undef;
        push @ways, [[$to, $wait]] if defined $wait;
    }
    return \@ways;
}

# Who holds which lock while: [target, exclusive, taken, released].
sub holds {
    my ($mine) = @_;
    my (@holds, %open);
    for my $i (0 .. $#$mine) {
        my ($kind, $target) = @{$mine->[$i]};
        $open{$target} = [$target, $kind eq 'X', $i] if $kind =~ /^[XH]$/;
        @open{0 .. $ranks - 1} = map { [$_, 0, $i] } 0 .. $ranks - 1 if $kind eq 'A';
        push @holds, [@{delete $open{$target}}, $i] if $kind eq 'U-release' && $open{$target};
        push @holds, map { [@{delete $open{$_}}, $i] } keys %open if $kind eq 'Z-release';
    }
    return [@holds, map { [@$_, 1e9] } values %open];
}

sub free_to_lock {
    my ($holds, $at, $rank, $step) = @_;
    my ($kind, $target) = @$step;
    for my $other (grep { $_ != $rank } 0 .. $ranks - 1) {
        for my $hold (@{$holds->[$other]}) {
            next if $kind ne 'A' && $hold->[0] != $target;
            next unless $at->[$other] > $hold->[2] && $at->[$other] <= $hold->[3];
            return 0 if $kind eq 'X' || $hold->[1];
        }
    }
    return 1;
}

sub passed { my ($at, $needs) = @_; return !grep { !defined $_->[1] || $at->[$_->[0]] <= $_->[1] } @$needs }

# Codes of a case, or undef where an interleaving hangs.
sub brute_force {
    my (@programs) = @_;
    my ($steps, $accesses) = steps_of(@programs);
    my (@needs, @holds, %seen, $race);
    for my $rank (0 .. $ranks - 1) {
        $needs[$rank] = [map { needs($steps, $rank, $_) } 0 .. $#{$steps->[$rank]}];
        $holds[$rank] = holds($steps->[$rank]);
    }
    $_->{ends} = ends($steps, $_) for @$accesses;
    my @pairs;
    for my $i (0 .. $#$accesses) {
        push @pairs, map { [$accesses->[$i], $accesses->[$_]] } grep { conflict($accesses->[$i], $accesses->[$_]) } $i + 1 .. $#$accesses;
    }
    my @todo = ([(0) x $ranks]);
    while (my $at = pop @todo) {
        next if $seen{"@$at"}++;
        for my $pair ($race ? () : @pairs) {
            $race = $pair if 2 == grep { my $access = $_; $at->[$access->{rank}] > $access->{begin} && !grep { passed($at, $_) } @{$access->{ends}} } @$pair;
        }
        my $moved = 0;
        for my $rank (0 .. $ranks - 1) {
            my $step = $steps->[$rank][$at->[$rank]] or next;
            next unless passed($at, $needs[$rank][$at->[$rank]]);
            next if $step->[0] =~ /^[XHA]$/ && !free_to_lock(\@holds, $at, $rank, $step);
            my @next = @$at;
            $next[$rank]++;
            push @todo, \@next;
            $moved = 1;
        }
        return undef if !$moved && grep { $at->[$_] < @{$steps->[$_]} } 0 .. $ranks - 1;
    }
    my @codes = (local_buffers(@programs), $race ? 'B003' : ());
    return (join(' ', @codes) || 'OK', $race ? "$race->[0]{rank}:$race->[0]{word} and $race->[1]{rank}:$race->[1]{word}" : '');
}

# Words x and y touch what the rank's last access owns of its memory, until a call completes it there.
sub local_buffers {
    for my $words (@_) {
        my ($open, $target);
        for my $word (@$words) {
            my ($kind, $field) = (substr($word, 0, 1), substr($word, 1));
            ($open, $target) = ($kind, substr($field, 0, 1)) if $kind =~ /[pPgGaQbcdnhfs]/;
            undef $open if $kind =~ /[FCYOZ]/ || ($kind =~ /[ulU]/ && defined $target && $field eq $target);
            undef $open if $kind eq 'k' && $open && $open =~ /[PGQ]/;
            return 'B001' if $open && ($kind eq 'x' || ($kind eq 'y' && $open =~ /[gGnhfs]/));
        }
    }
    return ();
}

# --- cases ------------------------------------------------------------------------------------------

my $state = 1;
sub dice { my ($sides) = @_; $state = ($state * 1103515245 + 12345) & 0x7fffffff; return int($state / 65536) % $sides }
sub one_of { return $_[dice(scalar @_)] }

sub shapes {    # two places and shapes, and how they lie
    return one_of([3, '1', 3, '1'], [3, '1', 3, '1'], [3, '1', 3, '1'], [3, '2', 4, '1'], [3, 'v', 4, '1'], [3, 'v', 5, '1'], [3, '1', 7, '1'], [2, '2', 3, '2'],
        [2, 'v', 3, 'v'], [3, '2', 3, 'v'], [6, '1', 6, '1'], [3, '2', 5, '2']);
}

sub word {
    my ($kind, $target, $place, $shape, $peer) = @_;
    $shape = '1' if $kind =~ /[fsd]/;
    return "$kind$place,$shape" if $kind =~ /[LS]/;
    return "$kind$peer,$place,$shape" if $kind =~ /[VRI]/;
    return "$kind$target,$place,$shape";
}

# a, b: [rank, words]; both touch the memory of rank 1.
sub pair {
    my ($requests) = @_;
    my @remote = $requests ? qw(p g a b c d n h f s P G Q) : qw(p g a b c d n h f s p g);
    my ($pa, $sa, $pb, $sb) = @{shapes()};
    my @pair;
    for my $side ([$pa, $sa], [$pb, $sb]) {
        my $kind = one_of(@remote, qw(L S), @pair && $pair[0]{local} ? () : qw(L S));
        my $here = $kind =~ /[LS]/;
        my $rank = $here ? 1 : dice(3);
        push @pair, {rank => $rank, kind => $kind, local => $here, words => [word($kind, 1, @$side, 2)]};
        push @{$pair[-1]{words}}, one_of('x', 'y') if !$here && !dice(8);
    }
    return @pair[dice(2) ? (0, 1) : (1, 0)];
}

sub put_in { my ($p, $access, @around) = @_; push @{$p->[$access->{rank}]}, map { $_ eq '*' ? @{$access->{words}} : $_ } @around }
sub all_do { my ($p, @words) = @_; push @$_, @words for @$p }

# Something orders b behind a, or does not.
sub order {
    my ($p, $how, $from, $to) = @_;
    my ($third) = grep { $_ != $from && $_ != $to } 0 .. $ranks - 1;
    if ($how eq 'barrier') { all_do($p, 'N') }
    elsif ($how eq 'ibarrier') { all_do($p, 'i', 'j') }
    elsif ($how eq 'message' && $from != $to) { push @{$p->[$from]}, "m$to"; push @{$p->[$to]}, "w$from" }
    elsif ($how eq 'back' && $from != $to) { push @{$p->[$to]}, "m$from"; push @{$p->[$from]}, "w$to" }
    elsif ($how eq 'elsewhere') { push @{$p->[$from]}, "m$third"; push @{$p->[$third]}, "w$from" }
    elsif ($how eq 'chain' && $from != $to) {
        push @{$p->[$from]}, "m$third";
        push @{$p->[$third]}, "w$from", "m$to";
        push @{$p->[$to]}, "w$third";
    }
}

sub opened { my ($style) = @_; return $style eq 'A' ? 'A' : "${style}1" }
sub closed { my ($style) = @_; return $style eq 'A' ? 'Z' : 'U1' }

my @orders = qw(nothing barrier ibarrier message back elsewhere chain);
my %completion = (nothing => [], flush => ['u1'], flush_all => ['Y'], flush_local => ['l1'], flush_local_all => ['O'], wait => ['k'], sync => ['e'], flush_other => ['u0']);
my %rules;

$rules{'no epoch'} = sub {
    my ($p, $a, $b) = @_;
    put_in($p, $_, '*') for $a, $b;
    return $a->{local} && $b->{local} ? undef : 'B004';
};
$rules{'fence: one epoch'} = sub {
    my ($p, $a, $b) = @_;
    all_do($p, 'F');
    put_in($p, $_, '*') for $a, $b;
    all_do($p, 'F');
};
$rules{'fence: two epochs'} = sub {
    my ($p, $a, $b) = @_;
    all_do($p, 'F');
    put_in($p, $a, '*');
    all_do($p, 'F');
    put_in($p, $b, '*');
    all_do($p, 'F');
};
for my $how (@orders[1, 3, 6]) {
    $rules{"fence: $how inside"} = sub {
        my ($p, $a, $b) = @_;
        all_do($p, 'F');
        put_in($p, $a, '*');
        order($p, $how, $a->{rank}, $b->{rank});
        put_in($p, $b, '*');
        all_do($p, 'F');
    };
}
for my $where ('before', 'inside', 'after', 'told') {
    $rules{"start and post: local $where"} = sub {
        my ($p, $a, $b) = @_;
        ($a, $b) = ($b, $a) if $a->{local};
        return undef if $a->{local} || !$b->{local} || $a->{kind} =~ /[PGQ]/;
        put_in($p, $b, '*') if $where eq 'before';
        push @{$p->[1]}, "T$a->{rank}";
        put_in($p, $b, '*') if $where eq 'inside' && dice(2);
        put_in($p, $a, 'B1', '*', 'C');
        order($p, 'message', $a->{rank}, 1) if $where eq 'told';
        put_in($p, $b, '*') if $where =~ /inside|told/ && !grep { $_ eq $b->{words}[0] } @{$p->[1]};
        push @{$p->[1]}, 'W';
        put_in($p, $b, '*') if $where eq 'after';
    };
}
for my $where ('one exposure', 'two exposures', 'told') {
    $rules{"start and post: $where"} = sub {
        my ($p, $a, $b) = @_;
        return undef if $a->{local} || $b->{local};
        if ($where eq 'two exposures') {
            for ($a, $b) {
                push @{$p->[1]}, "T$_->{rank}";
                put_in($p, $_, 'B1', '*', 'C');
                push @{$p->[1]}, 'W';
            }
        } elsif ($a->{rank} == $b->{rank}) {
            push @{$p->[1]}, "T$a->{rank}";
            put_in($p, $a, 'B1', '*');
            put_in($p, $b, '*', 'C');
            push @{$p->[1]}, 'W';
        } else {
            push @{$p->[1]}, "T$a->{rank}$b->{rank}";
            put_in($p, $a, 'B1', '*', 'C');
            order($p, 'message', $a->{rank}, $b->{rank}) if $where eq 'told';
            put_in($p, $b, 'B1', '*', 'C');
            push @{$p->[1]}, 'W';
        }
    };
}
for my $first (qw(X H A)) {
    for my $second (qw(X H A)) {
        for my $how (@orders) {
            $rules{"lock $first, $second: $how"} = sub {
                my ($p, $a, $b) = @_;
                put_in($p, $a, opened($first), '*', closed($first));
                order($p, $how, $a->{rank}, $b->{rank});
                put_in($p, $b, opened($second), '*', closed($second));
            };
        }
    }
    for my $how (@orders) {
        $rules{"lock $first, bare local: $how"} = sub {
            my ($p, $a, $b) = @_;
            my $flip = $a->{local};
            return undef unless $a->{local} xor $b->{local};
            $flip ? put_in($p, $a, '*') : put_in($p, $a, opened($first), '*', closed($first));
            order($p, $how, $a->{rank}, $b->{rank});
            $flip ? put_in($p, $b, opened($first), '*', closed($first)) : put_in($p, $b, '*');
        };
    }
}
for my $done (sort keys %completion) {
    for my $how (@orders) {
        $rules{"lock_all, $done, $how"} = sub {
            my ($p, $a, $b) = @_;
            all_do($p, 'A');
            put_in($p, $a, '*', $a->{local} && $done eq 'wait' ? () : @{$completion{$done}});
            order($p, $how, $a->{rank}, $b->{rank});
            put_in($p, $b, '*');
            all_do($p, 'Z');
        };
    }
}
for my $done (qw(flush flush_local wait)) {
    $rules{"lock_all, barrier then $done"} = sub {
        my ($p, $a, $b) = @_;
        all_do($p, 'A');
        put_in($p, $a, '*');
        all_do($p, 'N');
        put_in($p, $a, @{$completion{$done}});
        put_in($p, $b, '*');
        all_do($p, 'Z');
    };
    $rules{"lock_all, $done, ibarrier not awaited"} = sub {
        my ($p, $a, $b) = @_;
        all_do($p, 'A');
        put_in($p, $a, '*', @{$completion{$done}});
        all_do($p, 'i');
        put_in($p, $b, '*');
        all_do($p, 'j', 'Z');
    };
}
# Sends from the window's memory and receives into it.
for my $kind (qw(V R I)) {
    for my $how (qw(nothing barrier message back)) {
        $rules{{V => 'send', R => 'receive', I => 'Irecv'}->{$kind} . " in the window, $how"} = sub {
            my ($p, $a, $b) = @_;
            $a = $b if $a->{local};
            return undef if $a->{local};
            my $peer = one_of(0, 2);
            my $shape = one_of('1', '2', 'v');
            my @mine = word($kind, 1, 3, $shape, $peer);
            my @there = $kind eq 'V' ? ($shape eq '1' ? "w1" : undef) : ("v1,0," . ($shape eq '1' ? '1' : '2'));
            return undef unless defined $there[0];
            my $late = dice(2);
            my $message = sub { push @{$p->[1]}, @mine; push @{$p->[$peer]}, @there };
            all_do($p, 'A');
            $message->() unless $late;
            push @{$p->[1]}, 'k' if $kind eq 'I' && !$late && dice(2);
            order($p, $how, 1, $a->{rank}) unless $late;
            put_in($p, $a, '*', one_of('u1', 'l1'));
            order($p, $how, $a->{rank}, 1) if $late;
            $message->() if $late;
            push @{$p->[1]}, 'k';
            all_do($p, 'Z');
        };
    }
}
sub scattered {    # random accesses to random places, each rank its own
    my ($rank, $shapes) = @_;
    my $target = dice(2) ? 1 : dice(3);
    my $kind = one_of(qw(p g a b f h n s c), qw(L S));
    return word($kind, $target, 2 + dice(4), one_of('1', '1', '2', 'v'), 0);
}
$rules{'random: fences'} = sub {
    my ($p) = @_;
    for (1 .. 1 + dice(3)) {
        all_do($p, 'F');
        my @writers = map { dice(4) } 0 .. $ranks - 1;
        push @{$p->[$_]}, $writers[$_] ? () : scattered($_) for 0 .. $ranks - 1;
        push @{$p->[1]}, scattered(1) unless dice(3);
    }
    all_do($p, 'F');
};
$rules{'random: locks'} = sub {
    my ($p) = @_;
    for (1 .. 3 + dice(2)) {
        my $rank = dice(3);
        my $word = scattered($rank);
        my $target = $word =~ /^[LS]/ ? $rank : substr($word, 1, 1);
        push @{$p->[$rank]}, dice(5) || $word !~ /^[LS]/ ? (one_of('X', 'H') . $target, $word, "U$target") : $word;
        order($p, one_of(@orders), $rank, ($rank + 1 + dice(2)) % $ranks) if dice(2);
    }
};
$rules{'random: flushes'} = sub {
    my ($p) = @_;
    all_do($p, 'A');
    for (1 .. 3 + dice(2)) {
        my $rank = dice(3);
        push @{$p->[$rank]}, scattered($rank);
        push @{$p->[$rank]}, one_of('u0', 'u1', 'u2', 'Y', 'O', 'l1', 'e') if dice(4);
        order($p, one_of(@orders), $rank, ($rank + 1 + dice(2)) % $ranks) if dice(2);
    }
    all_do($p, 'Z');
};

sub alone { my ($side) = @_; return (steps_of(map { $_ == $side->{rank} ? $side->{words} : [] } 0 .. $ranks - 1))[1][0] }

my @names = sort keys %rules;

sub case_of {
    my ($number) = @_;
    my $name = $names[$number % @names];
    $state = 7919 * $number + 1;
    dice(2) for 1 .. 3;
    for (1 .. 200) {
        my @programs = ([], [], []);
        my @pair = pair($name =~ /lock_all/);
        my $meet = conflict(alone($pair[0]), alone($pair[1]));
        next if !$meet && $name !~ /random/ && dice(4);    # most pairs are worth ordering
        my $fixed = $rules{$name}->(\@programs, @pair);
        next if !defined $fixed;
        return ($name, $fixed, '', @programs) if $fixed eq 'B004';
        my ($code, $why) = brute_force(@programs);
        return ($name, $code, $why, @programs) if defined $code;
    }
    die "no case for $name";
}

# --- the run ----------------------------------------------------------------------------------------

my ($count, $first) = (@ARGV, 300, 0)[@ARGV ? (0, @ARGV > 1 ? 1 : 2) : (0, 1)];
my (%table, @columns, %columns, $wrong);
for my $number ($first .. $first + $count - 1) {
    my ($name, $code, $why, @programs) = case_of($number);
    my @words = map { my $rank = $_; map { "$rank:$_" } @{$programs[$rank]} } 0 .. $ranks - 1;
    my $said = `'$simrun' --db none -n $ranks --memory --timeout 60 '$actor' @words 2>&1`;
    my %codes = map { $_ => 1 } $said =~ /^([A-Z]\d{3}) /mg;
    my $found = join(' ', sort keys %codes) || ($said =~ /^PASS/ ? 'OK' : $said);
    $name =~ s/(: |, )(message|chain|back|elsewhere|i?barrier|nothing)$//;
    $table{$name}{"$code/$found"}++;
    next if $code eq $found;
    $wrong++;
    print "case $number, $name: expected $code ($why), found $found\n  $simrun --db none -n $ranks --memory $actor @words\n" if $wrong <= 40;
}
for my $name (sort keys %table) {
    printf "%-34s %s\n", $name, join ', ', map { my ($a, $b) = split m{/}; ($a eq $b ? "$a right" : "$a FOUND $b") . " $table{$name}{$_}" } sort keys %{$table{$name}};
}
printf "%d cases, %d differ\n", $count, $wrong // 0;
exit($wrong ? 1 : 0);
