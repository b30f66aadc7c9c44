// SPDX-License-Identifier: Apache-2.0
// Several calls on a line: only the columns tell them apart. Started with "reference" it writes the stacks of one round
// as V8 itself has them.
'use strict';
const fs = require('fs');

const isReference = process.argv[2] === 'reference';
const chains = new Set();

process.title = 'js-columns';

// Stacks from leaf()'s caller on.
function record() {
  Error.stackTraceLimit = Infinity;
  Error.prepareStackTrace = (error, sites) => sites.slice(2).filter((site) => site.getFileName() === __filename)
    .map((site) => [site.getFunctionName() || '', site.getLineNumber(), site.getColumnNumber()]);
  chains.add(JSON.stringify(new Error().stack));
}

function leaf(n) {
  if (isReference) record();
  let s = n;
  for (let i = 0; i < 5000; i++) { s = (s * 31 + i ^ 7) | 0; }
  return s;
}

class Box { constructor(n) { this.sum = leaf(n) + leaf(n + 1); } get twice() { return leaf(this.sum) + leaf(1); } }
const inner = (n) => leaf(n) ^ leaf(n + 1), middle = (n) => inner(n) + [n].map((m) => inner(m) + leaf(m))[0] + inner(n);
function outer(n) { return middle(n) - middle(n + 1) * (n & 1 ? middle(n) : middle(-n)) + new Box(n).twice; }

function main() { outer(1); outer(2); if (!isReference) setImmediate(main); }

setImmediate(main);
if (isReference) process.on('exit', () => fs.writeSync(1, `[${[...chains].join()}]\n`));
else setTimeout(fs.writeSync, 1000, 1, 'ready\n');
