<?php
// SPDX-License-Identifier: Apache-2.0
// Prints its stack as PHP has it, and waits there.
function tell()
{
	$calls = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS);
	foreach ($calls as $i => $call) {
		$outer = $calls[$i + 1] ?? null;
		$name = $outer ? (isset($outer["class"]) ? $outer["class"] . "::" : "") . $outer["function"] : "{main}";
		echo "frame\t$name\t", $call["line"] ?? 0, "\n";
	}
	echo "end\nready\n";
}

function innermost()
{
	// On one line, so that it is the line of both.
	tell(); sleep(1000);
}

class Waiter
{
	public function recurse($left)
	{
		if ($left)
			return $this->recurse($left - 1);
		return array_map(function ($x) { innermost(); }, [1]);
	}
}

(new Waiter())->recurse(3);
