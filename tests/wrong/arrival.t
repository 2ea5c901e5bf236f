#!/usr/bin/perl
# Gradients of programs whose result depends on which message, request, or lock comes first. Each run has a gradient of its own; it is right where it is the
# derivative of what that run computed. So the verdict on the adjoint may depend neither on how messages come (loops and communicators
# before, seeds, threads) nor on what simrun's own worlds would have received: right ones have R003 alone, wrong twins (an adjoint that
# forgets to communicate) have G001, too.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = $ENV{SIMRUN} // 'build/simrun';
my $folder = scratch_folder();
open my $out, '>', "$folder/arrival.c" or die "$folder/arrival.c: $!";
print $out <<'C';
#include <diff.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
static const char *how;
static int left;
/* The k-th that comes, by this way of receiving. */
static struct diff_tensor *next(struct diff_tensor *like)
{
    MPI_Status status;
    MPI_Message message;
    if (!strcmp(how, "probe")) {
        MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
        return diff_recv(like, status.MPI_SOURCE, 1, MPI_COMM_WORLD);
    }
    if (!strcmp(how, "started"))
        return diff_wait(diff_irecv(like, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD));
    if (!strcmp(how, "told")) { /* somebody says beforehand that he will send */
        int who = 0;
        MPI_Recv(&who, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
        return diff_recv(like, who, 1, MPI_COMM_WORLD);
    }
    if (!strcmp(how, "persistent")) {
        static int who;
        static MPI_Request start = MPI_REQUEST_NULL;
        if (start == MPI_REQUEST_NULL)
            MPI_Recv_init(&who, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &start);
        MPI_Start(&start);
        MPI_Wait(&start, &status);
        if (--left == 0)
            MPI_Request_free(&start);
        return diff_recv(like, who, 1, MPI_COMM_WORLD);
    }
    if (!strcmp(how, "matched")) {
        int who = 0;
        MPI_Mprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(&who, 1, MPI_INT, &message, &status);
        return diff_recv(like, status.MPI_SOURCE, 1, MPI_COMM_WORLD);
    }
    return diff_recv(like, MPI_ANY_SOURCE, strcmp(how, "any-tag") ? 1 : MPI_ANY_TAG, MPI_COMM_WORLD);
}
int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    how = argv[1];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < atoi(argv[2]); i++) {
        int one = 1, sum;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    double values[2] = {0.5 + rank, 1.5 - 0.3 * rank};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, values);
    struct diff_tensor *y = diff_allreduce(diff_mul(x, x), MPI_SUM, MPI_COMM_WORLD);
    if (rank > 0 && (!strcmp(how, "told") || !strcmp(how, "matched") || !strcmp(how, "persistent")))
        MPI_Send(&rank, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    if (rank > 0)
        diff_send(diff_mul(x, x), 0, 1, MPI_COMM_WORLD);
    left = size - 1;
    for (int i = 1; rank == 0 && i < size; i++)
        y = diff_add(diff_scale(y, 2), next(x));
    diff_backward(diff_sum(y));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
C
close $out or die;

my @forms = qw(plain any-tag probe started told persistent matched);
my @worlds = ([0, ''], [60, ''], [2, '--seed 3'], [60, '--cores 2'], [0, '--os-threads']);
for my $form (@forms) {
    my (@right, @wrong);
    for my $world (@worlds) {
        next if $world->[1] eq '--os-threads' && $form !~ /plain|probe/;
        my ($times, $options) = @$world;
        for my $mutant ('', '--mutant identity') {
            my $said = qx{'$simrun' --db none -n 4 $options $mutant '$folder/arrival.c' $form $times 2>&1};
            my %codes = map { $_ => 1 } $said =~ /^([A-Z]\d{3}) /mg;
            my $list = join ' ', sort keys %codes;
            my $race = $form eq 'probe' ? '(?: R003)?' : ' R003'; # what a probe sees is for prove to say
            push @right, "$times iterations before, $options: $list" if !$mutant && " $list" !~ /^ ?$race$/;
            push @wrong, "$times iterations before, $options: $list" if $mutant && $list !~ /^G001$race$/;
        }
    }
    is "@right", '', "$form: a right adjoint is right in every order";
    is "@wrong", '', "$form: a wrong one is wrong in every order";
}

# The same of programs that learn by waits for any of several requests, and by polls, what comes first.
open $out, '>', "$folder/done.c" or die "$folder/done.c: $!";
print $out <<'C';
#include <diff.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
enum { RANKS = 5 };
static const char *how;
static MPI_Request requests[RANKS - 1];
static int tokens[RANKS - 1], places[RANKS - 1], finished;
static MPI_Win win;
static int is(const char *form)
{
    return !strcmp(how, form);
}
/* Takes a message that a probe sees, of whoever it is. */
static int taken(void)
{
    MPI_Status status;
    MPI_Message message;
    int seen;
    if (is("improbe"))
        MPI_Improbe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &seen, &message, &status);
    else
        MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &seen, &status);
    if (seen && is("improbe"))
        MPI_Mrecv(tokens, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    else if (seen)
        MPI_Recv(tokens, 1, MPI_INT, status.MPI_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    places[0] = seen ? status.MPI_SOURCE - 1 : 0;
    return seen;
}
/* One partition at a time; all ranks that put, whose number is that of the looks in vain. */
static int one_of_several(void)
{
    static int gone[RANKS], looks;
    int some = 0;
    for (int i = 0; i < RANKS - 1 && is("parrived") && !some; i++) {
        if (gone[i])
            continue;
        MPI_Parrived(requests[i], 0, &some);
        if (some) {
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            MPI_Request_free(&requests[i]);
        }
        gone[i] = some;
        places[0] = i;
    }
    if (is("win-test")) {
        looks++;
        MPI_Win_test(win, &some);
        some *= RANKS - 1;
        for (int i = 0; i < some; i++)
            places[i] = looks;
    }
    finished += some;
    if (finished == RANKS - 1) {
        memset(gone, 0, sizeof gone);
        looks = finished = 0;
    }
    return some;
}
/* How many more are done by this way of looking; their places. */
static int done(void)
{
    int some = 0;
    if (is("waitany")) {
        MPI_Waitany(RANKS - 1, requests, places, MPI_STATUS_IGNORE);
        return 1;
    }
    if (is("waitsome"))
        MPI_Waitsome(RANKS - 1, requests, &some, places, MPI_STATUSES_IGNORE);
    else if (is("testsome"))
        MPI_Testsome(RANKS - 1, requests, &some, places, MPI_STATUSES_IGNORE);
    else if (is("testany"))
        MPI_Testany(RANKS - 1, requests, places, &some, MPI_STATUS_IGNORE);
    else if (is("parrived") || is("win-test"))
        return one_of_several();
    else if (!is("test") && !is("looked"))
        return taken();
    for (int i = 0; i < RANKS - 1 && (is("test") || is("looked")) && !some; i++) {
        if (requests[i] == MPI_REQUEST_NULL)
            continue;
        if (is("test"))
            MPI_Test(&requests[i], &some, MPI_STATUS_IGNORE);
        else
            MPI_Request_get_status(requests[i], &some, MPI_STATUS_IGNORE);
        if (some && is("looked"))
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        places[0] = i;
    }
    return some;
}
/* Some ranks come late. */
static void come_late(int times)
{
    for (int i = 0, seen; i < times; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &seen, MPI_STATUS_IGNORE);
}
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    how = argv[1];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double values[2] = {0.5 + rank, 1.5 - 0.3 * rank};
    static int memory[RANKS], first, all[RANKS - 1] = {1, 2, 3, 4};
    MPI_Group world, others;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, rank ? 1 : RANKS - 1, rank ? &first : all, &others);
    if (is("win-test"))
        MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int step = 0; step < 3; step++) {
        struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
        struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, values);
        struct diff_tensor *y = diff_allreduce(diff_mul(x, x), MPI_SUM, MPI_COMM_WORLD);
        come_late(rank * atoi(argv[2]) % 7);
        if (is("win-test")) {
            if (rank == 0) {
                MPI_Win_post(others, 0, win);
            } else {
                MPI_Win_start(others, 0, win);
                MPI_Put(&rank, 1, MPI_INT, 0, rank - 1, 1, MPI_INT, win);
                MPI_Win_complete(win);
            }
        } else if (is("parrived") && rank > 0) {
            MPI_Request send;
            MPI_Psend_init(&rank, 1, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
            MPI_Start(&send);
            MPI_Pready(0, send);
            MPI_Wait(&send, MPI_STATUS_IGNORE);
            MPI_Request_free(&send);
        } else if (rank > 0) {
            MPI_Send(&rank, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
        }
        for (int i = 0; rank == 0 && is("parrived") && i < RANKS - 1; i++) {
            MPI_Precv_init(&tokens[i], 1, 1, MPI_INT, i + 1, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
            MPI_Start(&requests[i]);
        }
        for (int i = 0; rank == 0 && i < RANKS - 1; i++)
            if (!is("iprobe") && !is("improbe") && !is("parrived") && !is("win-test"))
                MPI_Irecv(&tokens[i], 1, MPI_INT, i + 1, 2, MPI_COMM_WORLD, &requests[i]);
        for (int left = RANKS - 1; rank == 0 && left > 0;) {
            int some = done();
            for (int i = 0; i < some; i++, left--)
                y = diff_add(diff_scale(y, 1.1), diff_scale(x, places[i] + 2.0 * some));
        }
        diff_backward(diff_sum(y));
        diff_tape_free(tape);
        for (int i = 0; i < 2; i++)
            values[i] *= 0.9;
    }
    if (is("win-test"))
        MPI_Win_free(&win);
    MPI_Group_free(&others);
    MPI_Group_free(&world);
    MPI_Finalize();
    return 0;
}
C
close $out or die;

for my $form (qw(waitany waitsome testany testsome test looked iprobe improbe parrived win-test)) {
    my (@right, @wrong);
    for my $world ([0, ''], [1, '--seed 3'], [3, ''], [3, '--cores 2'], [1, '--os-threads']) {
        my ($late, $options) = @$world;
        next if $options eq '--os-threads' && $form !~ /waitany|test$/;
        for my $mutant ('', '--mutant identity') {
            my $said = qx{'$simrun' --db none -n 5 $options $mutant '$folder/done.c' $form $late 2>&1};
            my %codes = map { $_ => 1 } $said =~ /^([A-Z]\d{3}) /mg;
            delete $codes{R003} if $form eq 'improbe'; # a matched probe is a receive from any source
            my $list = join ' ', sort keys %codes;
            push @right, "$late, $options: $list $?" if !$mutant && ($list || $?);
            push @right, "$late, $options: the order was not kept" if $said =~ /order of messages/;
            push @wrong, "$late, $options: $list" if $mutant && $list ne 'G001';
        }
    }
    is "@right", '', "$form: a right adjoint is right whatever is done first";
    is "@wrong", '', "$form: a wrong one is wrong";
}

# The same of programs that learn from a window who came before: by a lock that one rank has at a time, by what an atomic operation fetches.
open $out, '>', "$folder/turn.c" or die "$folder/turn.c: $!";
print $out <<'C';
#include <diff.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
static const char *how;
static MPI_Win win;
static int is(const char *form)
{
    return !strcmp(how, form);
}
/* How many came before, at this target. */
static int before(int target)
{
    int one = 1, mine = 0, seen = 0, next;
    MPI_Request request;
    if (is("lock")) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        MPI_Get(&mine, 1, MPI_INT, target, 0, 1, MPI_INT, win);
        MPI_Win_flush(target, win);
        next = mine + 1;
        MPI_Put(&next, 1, MPI_INT, target, 0, 1, MPI_INT, win);
        MPI_Win_unlock(target, win);
        return mine;
    }
    if (is("looks")) { /* some change it, the others see what is there by then */
        int rank;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Win_lock(rank % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, win);
        MPI_Get(&mine, 1, MPI_INT, target, 0, 1, MPI_INT, win);
        MPI_Win_flush(target, win);
        next = mine + 1;
        if (rank % 2)
            MPI_Put(&next, 1, MPI_INT, target, 0, 1, MPI_INT, win);
        MPI_Win_unlock(target, win);
        return mine;
    }
    MPI_Win_lock_all(0, win);
    if (is("fetch"))
        MPI_Fetch_and_op(&one, &mine, MPI_INT, target, 0, MPI_SUM, win);
    if (is("accumulate"))
        MPI_Get_accumulate(&one, 1, MPI_INT, &mine, 1, MPI_INT, target, 0, 1, MPI_INT, MPI_SUM, win);
    if (is("adds-and-fetches")) {
        MPI_Accumulate(&one, 1, MPI_INT, target, 0, 1, MPI_INT, MPI_SUM, win);
        MPI_Win_flush(target, win);
        MPI_Fetch_and_op(NULL, &mine, MPI_INT, target, 0, MPI_NO_OP, win);
    }
    if (is("request")) {
        MPI_Rget_accumulate(&one, 1, MPI_INT, &mine, 1, MPI_INT, target, 0, 1, MPI_INT, MPI_SUM, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    while (is("swap")) {
        next = mine + 1;
        MPI_Compare_and_swap(&next, &mine, &seen, MPI_INT, target, 0, win);
        MPI_Win_flush(target, win);
        if (seen == mine)
            break;
        mine = seen;
    }
    MPI_Win_unlock_all(win);
    return mine;
}
int main(int argc, char **argv)
{
    int rank, size, *numbers;
    MPI_Init(&argc, &argv);
    how = argv[1];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(sizeof *numbers, sizeof *numbers, MPI_INFO_NULL, MPI_COMM_WORLD, &numbers, &win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    *numbers = 0;
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    double values[2] = {0.5 + rank, 1.5 - 0.3 * rank};
    for (int step = 0; step < 3; step++) {
        struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
        struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, values);
        struct diff_tensor *y = diff_allreduce(diff_mul(x, x), MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0, seen; i < rank * atoi(argv[2]) % 7; i++) /* some come late */
            MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &seen, MPI_STATUS_IGNORE);
        for (int target = 0; target < 2; target++)
            y = diff_scale(y, 1 + before((step + target) % size));
        diff_backward(diff_sum(y));
        diff_tape_free(tape);
        for (int i = 0; i < 2; i++)
            values[i] *= 0.9;
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
C
close $out or die;

for my $form (qw(lock looks fetch accumulate adds-and-fetches request swap)) {
    my (@right, @wrong);
    for my $world ([0, ''], [1, '--seed 3'], [3, ''], [3, '--cores 2'], [3, '--delivery late'], [1, '--os-threads']) {
        my ($late, $options) = @$world;
        next if $options eq '--os-threads' && $form !~ /lock|fetch$/;
        for my $mutant ('', '--mutant identity') {
            my $said = qx{'$simrun' --db none -n 5 $options $mutant '$folder/turn.c' $form $late 2>&1};
            my %codes = map { $_ => 1 } $said =~ /^([A-Z]\d{3}) /mg;
            my $list = join ' ', sort keys %codes;
            push @right, "$late, $options: $list $?" if !$mutant && ($list || $?);
            push @right, "$late, $options: the order was not kept" if $said =~ /order of messages/;
            push @wrong, "$late, $options: $list" if $mutant && $list ne 'G001';
        }
    }
    is "@right", '', "$form: a right adjoint is right whoever comes first";
    is "@wrong", '', "$form: a wrong one is wrong";
}
done_testing;
