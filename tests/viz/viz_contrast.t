#!/usr/bin/perl
# Every colour of text has a contrast of at least 4.5 to 1 on what it is written on, in light and in dark (WCAG 2, AA).
use strict;
use warnings;
use Test::More;

my $page = do { open my $f, '<', 'docs/pictures/report.html' or die; local $/; <$f> };

sub luminance {
    my $color = shift =~ s/^#//r;
    $color =~ s/(.)/$1$1/g if length $color == 3;
    my @part = map { my $c = hex($_) / 255; $c <= 0.03928 ? $c / 12.92 : (($c + 0.055) / 1.055)**2.4 } $color =~ /(..)/g;
    return 0.2126 * $part[0] + 0.7152 * $part[1] + 0.0722 * $part[2];
}
sub contrast {
    my ($low, $high) = sort { $a <=> $b } map { luminance($_) } @_;
    return ($high + 0.05) / ($low + 0.05);
}
sub colors { return map { /--([a-z-]+):(#[0-9a-f]+)/i ? ($1, $2) : () } split /;/, shift }

my %scheme;
my @picture = $page =~ /\.viz\{(--paper[^}]*)\}/g;
my @around = $page =~ /:root\{[^}]*?(--bg[^}]*)\}/g;
is(scalar @picture, 2, 'pictures have two sets of colours');
is(scalar @around, 2, 'and so has the page');
my %on = (
    ink => [qw(paper lane blue-fill amber-fill plum-fill green-fill fault-fill wait-fill taint-fill)],
    soft => [qw(paper lane wait-fill)], faint => [qw(paper lane)], amber => [qw(paper taint-fill)],
    green => [qw(paper lane green-fill)], 'fault-ink' => [qw(paper lane fault-fill amber-fill taint-fill)],
);
for my $dark (0, 1) {
    my %color = (colors($picture[$dark]), map { ("page $_", {colors($around[$dark])}->{$_}) } qw(bg card text dim bad good link));
    my @poor;
    for my $ink (sort keys %on) {
        for my $paper (@{$on{$ink}}) {
            my $contrast = contrast($color{$ink}, $color{$paper});
            push @poor, sprintf '%s on %s: %.2f', $ink, $paper, $contrast if !($contrast >= 4.5);
        }
    }
    for my $ink (qw(text dim bad good link)) {
        for my $paper (qw(bg card)) {
            my $contrast = contrast($color{"page $ink"}, $color{"page $paper"});
            push @poor, sprintf '%s on %s: %.2f', $ink, $paper, $contrast if !($contrast >= 4.5);
        }
    }
    is(join('; ', @poor), '', $dark ? 'text stands out in dark' : 'text stands out in light');
}
# Every picture has words for those who do not see it, every region that scrolls can be reached with the keyboard.
my @figures = $page =~ /<svg class="viz"[^>]*>/g;
cmp_ok(scalar @figures, '>', 3, 'there are pictures');
my $described = 0;
for my $figure (@figures) {
    my ($title, $description) = $figure =~ /role="img" aria-labelledby="(\S+) (\S+)"/ or next;
    $described += $page =~ /<title id="$title">[^<]/ && $page =~ /<desc id="$description">[^<]/;
}
is($described, scalar @figures, 'each with a title and a description');
is(scalar(grep { !/tabindex="0"/ || !/role="region"/ || !/aria-label="[^"]/ } $page =~ /<div class="wide"[^>]*>/g), 0,
    'what scrolls can be focused and is named');
is(scalar(grep { !/scope=/ } $page =~ /<th\b[^>]*>/g), 0, 'table heads say of what they are the head');
like($page, qr/<html lang="en">/, 'the language is told');
like($page, qr/<a class="skip" href="#main">/, 'there is a way to the content');
done_testing();
