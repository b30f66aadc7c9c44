// SPDX-License-Identifier: Apache-2.0
// Two modules of WebAssembly between JavaScript frames. In each, outer() calls middle(), which calls spin(), a loop, and
// back(), a function of JavaScript that spins too. One of them has a section with names.
'use strict';
const fs = require('fs');

const LOOPS = 20000;
const I32 = 0x7f;

process.title = 'js-wasm';

const number = (value) => (value < 128 ? [value] : [value & 127 | 128, ...number(value >>> 7)]);
const text = (string) => [...number(string.length), ...Buffer.from(string)];
const list = (items) => [...number(items.length), ...items.flat()];
const section = (id, bytes) => [id, ...number(bytes.length), ...bytes];
const body = (locals, code) => { const bytes = [...locals, ...code, 0x0b]; return [...number(bytes.length), ...bytes]; };
const signed = (value) => {
  const low = value & 127;
  const rest = value >> 7;
  return (rest === 0 && !(low & 64)) || (rest === -1 && low & 64) ? [low] : [low | 128, ...signed(rest)];
};

// The functions: 0 back, which is imported, 1 spin, 2 middle, 3 outer; all take a number and return one.
function moduleBytes(names) {
  // local 1 = LOOPS; do { local 0 = local 0 * 31 + local 1; } while (--local 1); return local 0
  const spin = [0x41, ...signed(LOOPS), 0x21, 1, 0x03, 0x40, 0x20, 0, 0x41, 31, 0x6c, 0x20, 1, 0x6a, 0x21, 0,
    0x20, 1, 0x41, 1, 0x6b, 0x22, 1, 0x0d, 0, 0x0b, 0x20, 0];
  const middle = [0x20, 0, 0x10, 1, 0x20, 0, 0x10, 0, 0x6a];
  const outer = [0x20, 0, 0x10, 2, 0x41, 1, 0x6a];
  return Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, list([[0x60, ...list([I32]), ...list([I32])]])),
    ...section(2, list([[...text('env'), ...text('back'), 0, 0]])),
    ...section(3, list([[0], [0], [0]])),
    ...section(7, list([[...text('run'), 0, 3]])),
    ...section(10, list([body([1, 1, I32], spin), body([0], middle), body([0], outer)])),
    ...(names ? section(0, [...text('name'), ...section(0, text('known')),
      ...section(1, list([[1, ...text('spin')], [2, ...text('middle::<u8>')], [3, ...text('outer')]]))]) : [])]);
}

function back(n) {
  let s = n;
  for (let i = 0; i < LOOPS; i++) { s = (s * 31 + i ^ 7) | 0; }
  return s;
}

const instances = [true, false].map((names) =>
  new WebAssembly.Instance(new WebAssembly.Module(moduleBytes(names)), { env: { back } }));

function callNamed(n) {
  return instances[0].exports.run(n);
}

function callNameless(n) {
  return instances[1].exports.run(n);
}

function main() {
  for (let i = 0; i < 20; i++) {
    callNamed(i);
    callNameless(i);
  }
  setImmediate(main);
}

main();
setTimeout(fs.writeSync, 1000, 1, 'ready\n');
