// SPDX-License-Identifier: Apache-2.0
// Ten lines, each with a loop: the first one takes one part of the time, the second one two parts, and so on.
'use strict';
const fs = require('fs');

process.title = 'js-loops';

function loops(n) {
  let s = 0;
  for (let i = 0; i < n; i++) { s = (s + i ^ 7) | 0; }
  for (let i = 0; i < 2 * n; i++) { s = (s + i ^ 7) | 0; }
  for (let i = 0; i < 3 * n; i++) { s = (s + i ^ 7) | 0; }
  for (let i = 0; i < 4 * n; i++) { s = (s + i ^ 7) | 0; }
  for (let i = 0; i < 5 * n; i++) { s = (s + i ^ 7) | 0; }
  for (let i = 0; i < 6 * n; i++) { s = (s + i ^ 7) | 0; }
  for (let i = 0; i < 7 * n; i++) { s = (s + i ^ 7) | 0; }
  for (let i = 0; i < 8 * n; i++) { s = (s + i ^ 7) | 0; }
  for (let i = 0; i < 9 * n; i++) { s = (s + i ^ 7) | 0; }
  for (let i = 0; i < 10 * n; i++) { s = (s + i ^ 7) | 0; }
  return s;
}

function main() {
  for (let i = 0; i < 50; i++) {
    loops(3000);
  }
  setImmediate(main);
}

main();
setTimeout(fs.writeSync, 1000, 1, 'ready\n');
