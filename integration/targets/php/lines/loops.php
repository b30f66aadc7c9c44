<?php
// Ten lines, each with a loop: the first one takes one part of the time, the second one two parts, and so on.
function loops(int $n): int
{
    $s = 0;
    for ($i = 0; $i < $n; $i++) { $s = (($s + $i) ^ 7) & 65535; }
    for ($i = 0; $i < 2 * $n; $i++) { $s = (($s + $i) ^ 7) & 65535; }
    for ($i = 0; $i < 3 * $n; $i++) { $s = (($s + $i) ^ 7) & 65535; }
    for ($i = 0; $i < 4 * $n; $i++) { $s = (($s + $i) ^ 7) & 65535; }
    for ($i = 0; $i < 5 * $n; $i++) { $s = (($s + $i) ^ 7) & 65535; }
    for ($i = 0; $i < 6 * $n; $i++) { $s = (($s + $i) ^ 7) & 65535; }
    for ($i = 0; $i < 7 * $n; $i++) { $s = (($s + $i) ^ 7) & 65535; }
    for ($i = 0; $i < 8 * $n; $i++) { $s = (($s + $i) ^ 7) & 65535; }
    for ($i = 0; $i < 9 * $n; $i++) { $s = (($s + $i) ^ 7) & 65535; }
    for ($i = 0; $i < 10 * $n; $i++) { $s = (($s + $i) ^ 7) & 65535; }
    return $s;
}

$end = hrtime(true) + 1000000000;
while (true) {
    loops(30000);
    if ($end && hrtime(true) > $end) {
        $end = 0;
        echo "ready\n";
    }
}
