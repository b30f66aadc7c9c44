<?php
// Chains of functions whose depth is $thread, the number of the thread, for ever (threads.c).

function work(): int
{
    for ($i = 0, $sum = 0; $i < 1500; $i++) {
        $sum += $i;
    }
    return $sum;
}

function deep(int $left): int
{
    return $left === 0 ? work() : deep($left - 1);
}

class Caller
{
    public function call(int $depth): array
    {
        return array_map('deep', [$depth]);
    }
}

function generated(int $depth): Generator
{
    yield deep($depth);
}

while (true) {
    deep($thread);
    (new Caller())->call($thread);
    foreach (generated($thread) as $sum);
}
