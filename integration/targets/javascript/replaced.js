// SPDX-License-Identifier: Apache-2.0
// Code that was entered before the function got other code: on-stack replacement in main, a recursion that changes
// its tier on the way, and a function that is deoptimized while its callee runs.
//
// flags: --allow-natives-syntax
// tiers: main=turbofan recursive=ignition,sparkplug,turbofan deoptimized=turbofan
// inlined: helper
'use strict';
const stop = require('./stop.js');
const word = new Int32Array(new SharedArrayBuffer(4));
let isReady = false;

// V8 compiles main's loop in another thread, which gets the CPU now and then while this one sleeps.
function leaf(n) {
  if (isReady) stop();
  if ((n & 0xffff) === 0) Atomics.wait(word, 0, 0, 10);
  return n; }
function helper(x) {
  return leaf(x) * 2; }
function main() { let sum = 0;
  for (let i = 0; i < 3000000; i++) {
    if (i === 2999999) isReady = true;
    sum += (i & 1023) === 0 || isReady ? helper(i)
         : 1;
  }
  return sum; }
function invalidate(n) {
  if (n < 0) %DeoptimizeFunction(deoptimized);
  return n < 0 ? main() : n; }
function deoptimized(n) { const before = n + 1;
  return before +
    invalidate(n); }
function recursive(n) {
  if (n === 20) %CompileBaseline(recursive);
  if (n === 10) %OptimizeFunctionOnNextCall(recursive);
  if (n === 0) return deoptimized(-1);
  return recursive(n - 1) + 1; }

%NeverOptimizeFunction(leaf);
%NeverOptimizeFunction(invalidate);
%PrepareFunctionForOptimization(deoptimized);
deoptimized(1); deoptimized(2);
%OptimizeFunctionOnNextCall(deoptimized);
deoptimized(3);
%PrepareFunctionForOptimization(recursive);
recursive(30);
