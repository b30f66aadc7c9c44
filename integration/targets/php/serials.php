<?php
// SPDX-License-Identifier: Apache-2.0
// Calls closures, all of the same shape, whose names have a serial number: their line. The oldest is replaced by a new one all
// the time, which then takes its memory. Writes to standard error when each was made and dropped: its number and two times of
// CLOCK_MONOTONIC in ns.

const ALIVE = 8;

$alive = [];
echo "ready\n";
for ($serial = 1; ; $serial++) {
    if (count($alive) == ALIVE) {
        [$number, $born, $made] = array_shift($alive);
        $made = null;
        fwrite(STDERR, sprintf("%d %d %d\n", $number, $born, hrtime(true)));
    }
    $born = hrtime(true);
    $made = eval(str_repeat("\n", $serial - 1) . 'return function ($n) { $x = $n; '
        . 'for ($i = 0; $i < 20000; $i++) { $x = ($x * 31 + $i) & 0xffff; } return $x; };');
    $alive[] = [$serial, $born, $made];
    foreach ($alive as [, , $one]) {
        $one($serial);
    }
}
