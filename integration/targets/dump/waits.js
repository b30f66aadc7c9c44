// SPDX-License-Identifier: Apache-2.0
// Two threads print their stacks as JavaScript has them, and wait there.
"use strict";
const { Worker, isMainThread, workerData } = require("worker_threads");
const { writeSync } = require("fs");

function tell() {
	const before = Error.prepareStackTrace;
	Error.stackTraceLimit = Infinity;
	Error.prepareStackTrace = (_, sites) => sites;
	const sites = new Error().stack.slice(1);
	Error.prepareStackTrace = before;
	for (const site of sites)
		writeSync(1, `frame\t${site.getFunctionName() || ""}\t${site.getLineNumber() || 0}\n`);
	writeSync(1, "end\n");
}

function next() {
	if (isMainThread) {
		writeSync(1, "ready\n");
	} else {
		Atomics.store(workerData, 0, 1);
		Atomics.notify(workerData, 0);
	}
}

function innermost() {
	// On one line, so that it is the line of both.
	tell(); next(); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

class Waiter {
	recurse(left) {
		if (left)
			return this.recurse(left - 1);
		return [1].map(function mapped() { return innermost(); });
	}
}

if (isMainThread) {
	const hasTold = new Int32Array(new SharedArrayBuffer(4));
	new Worker(__filename, { workerData: hasTold });
	Atomics.wait(hasTold, 0, 0);
}
new Waiter().recurse(isMainThread ? 3 : 5);
