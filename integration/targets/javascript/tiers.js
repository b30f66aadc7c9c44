// SPDX-License-Identifier: Apache-2.0
// One function in each tier, three levels of inlining, and getters, private and static methods in between.
//
// flags: --allow-natives-syntax
// tiers: once=ignition base=sparkplug optimized=turbofan level1=turbofan level2=turbofan level3=turbofan
// tiers from 24: middle=maglev below=maglev
// inlined: level1 level2 level3
// inlined from 24: below
'use strict';
const stop = require('./stop.js');
let isReady = false;
// So many callees at one call that none is inlined there.
const table = [(n) => n, optimized, (n) => n + 2, (n) => n + 3, (n) => n + 4, (n) => n + 5, (n) => n + 6, (n) => n + 7];

function leaf(n) { if (isReady) stop(); return n; }
function level3(n) {
  return leaf(n) + 1; }
function level2(n) { return 3 +
    level3(n) + 2; }
function level1(n) {
  const sum = level2(n);
  return sum * 2; }
function optimized(n) { let sum = 0;
  sum += level1(n);
  return sum; }
function below(n) {
  return table[n & 7](n); }
function middle(n) { let sum = n;
  sum += below(n)
       + 1;
  return sum; }
function base(n) { let sum = 1;
  sum += middle(n);
  return sum; }
class Holder {
  #value = 1;
  get value() { return base(this.#value); }
  static #make(x) { return new Holder().value + x; }
  run(x) { return Holder.#make(x); }
}
function once(n) { return new Holder().run(n); }

%NeverOptimizeFunction(leaf);
for (const f of [level1, level2, level3, optimized]) %PrepareFunctionForOptimization(f);
for (const f of [below, middle, base]) %PrepareFunctionForOptimization(f);
for (let i = 0; i < 100; i++) { base(i); }
%CompileBaseline(base);
%OptimizeFunctionOnNextCall(optimized);
optimized(1);
if (parseInt(process.versions.node) >= 24) {
  // Older versions do not know the word.
  new Function('f', '%OptimizeMaglevOnNextCall(f)')(middle);
  middle(1);
}
isReady = true;
once(5);
