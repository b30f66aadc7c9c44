<?php
// Chains of functions that run in fibers, for ever; it says `ready`.

function work(): float
{
	$sum = 0.0;
	for ($i = 1; $i < 2000; $i++)
		$sum += 1 / ($i * $i);
	return $sum;
}

function inner(): float
{
	return work();
}

/** A fiber that is resumed for each round. */
function resumed(): void
{
	static $fiber = null;
	$fiber ??= new Fiber(function (): void {
		while (true) {
			inner();
			Fiber::suspend();
		}
	});
	if ($fiber->isStarted())
		$fiber->resume();
	else
		$fiber->start();
}

/** A fiber in a fiber, which calls through a function in C. */
function nested(): void
{
	$outer = new Fiber(function (): void {
		$inside = new Fiber(fn() => array_map('inner', [1]));
		$inside->start();
	});
	$outer->start();
}

function deep(int $depth): void
{
	if ($depth === 0) {
		inner();
		return;
	}
	$fiber = new Fiber('deep');
	$fiber->start($depth - 1);
}

function delegated(): Generator
{
	yield inner();
}

/** A generator in a fiber. */
function generated(): void
{
	$fiber = new Fiber(function (): void {
		foreach (delegated() as $value)
			Fiber::suspend($value);
	});
	$fiber->start();
}

/** A fiber with a function in C. */
function called(): void
{
	$fiber = new Fiber('array_map');
	$fiber->start('inner', [1]);
}

function all(): void
{
	resumed();
	nested();
	deep(3);
	generated();
	called();
}

echo "ready\n";
while (true)
	all();
