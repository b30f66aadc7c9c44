// SPDX-License-Identifier: Apache-2.0
// WebAssembly between JavaScript frames: run() calls an inner function, and that the imported one.
//
// wasm: 2
'use strict';
const stop = require('./stop.js');

const bytes = Uint8Array.from([
  0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 4, 1, 0x60, 0, 0, 2, 7, 1, 1, 0x6d, 1, 0x66, 0, 0, 3, 3, 2, 0, 0,
  7, 7, 1, 3, 0x72, 0x75, 0x6e, 0, 2, 0x0a, 0x0b, 2, 4, 0, 0x10, 0, 0x0b, 4, 0, 0x10, 1, 0x0b]);
let isReady = false;
function imported() { if (isReady) stop(); }
const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), { m: { f: imported } });
function call() { instance.exports.run(); }
for (let i = 0; i < 10; i++) call();
isReady = true;
call();
