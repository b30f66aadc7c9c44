// SPDX-License-Identifier: Apache-2.0
// Calls functions with serial numbers, all of the same shape. The oldest is replaced by a new one all the time, which then takes
// the memory of one that was collected. Writes to standard error when each was made and dropped: its number and two times of
// CLOCK_MONOTONIC in ns.
'use strict';
const fs = require('fs');

const ALIVE = 8;
const BETWEEN_COLLECTIONS = 4 * ALIVE;
const alive = [];
let lines = '';
let sum = 0;

console.log('ready');
for (let serial = 1; ; serial++) {
  if (alive.length === ALIVE) {
    const { number, born } = alive.shift();
    lines += `${number} ${born} ${process.hrtime.bigint()}\n`;
    if (number % BETWEEN_COLLECTIONS === 0) {
      fs.writeSync(2, lines);
      lines = '';
      globalThis.gc();
    }
  }
  const born = process.hrtime.bigint();
  const made = (0, eval)(`(function serial_${serial}(n) {
    let x = n;
    for (let i = 0; i < 100000; i++) x = (x * 31 + i) | 0;
    return x;
  })`);
  alive.push({ number: serial, born, made });
  for (const one of alive) sum ^= one.made(serial);
}
