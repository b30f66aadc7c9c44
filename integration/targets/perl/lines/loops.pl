# Ten lines, each with a loop: the first one takes one part of the time, the second one two parts, and so on.
use strict;
use warnings;

$| = 1;

sub loops {
    my ($n) = @_;
    my ($s, $i) = (0, 0);
    $i = 0; while ($i < $n) { $s = (($s + $i) ^ 7) & 65535; $i++; }
    $i = 0; while ($i < 2 * $n) { $s = (($s + $i) ^ 7) & 65535; $i++; }
    $i = 0; while ($i < 3 * $n) { $s = (($s + $i) ^ 7) & 65535; $i++; }
    $i = 0; while ($i < 4 * $n) { $s = (($s + $i) ^ 7) & 65535; $i++; }
    $i = 0; while ($i < 5 * $n) { $s = (($s + $i) ^ 7) & 65535; $i++; }
    $i = 0; while ($i < 6 * $n) { $s = (($s + $i) ^ 7) & 65535; $i++; }
    $i = 0; while ($i < 7 * $n) { $s = (($s + $i) ^ 7) & 65535; $i++; }
    $i = 0; while ($i < 8 * $n) { $s = (($s + $i) ^ 7) & 65535; $i++; }
    $i = 0; while ($i < 9 * $n) { $s = (($s + $i) ^ 7) & 65535; $i++; }
    $i = 0; while ($i < 10 * $n) { $s = (($s + $i) ^ 7) & 65535; $i++; }
    return $s;
}

my $end = time + 2;
while (1) {
    loops(10_000);
    if ($end && time > $end) {
        $end = 0;
        print "ready\n";
    }
}
