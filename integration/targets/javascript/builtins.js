// SPDX-License-Identifier: Apache-2.0
// JavaScript that builtins and C++ call: callbacks of arrays, replace() with a function, JSON.parse() with a reviver,
// Reflect, bound functions, proxies, accessors by defineProperty, and promises.
//
// builtins: Array.prototype.map Array.prototype.sort Array.prototype.forEach String.prototype.replace
'use strict';
const stop = require('./stop.js');
let isReady = false;

function callback(match) { if (isReady) stop(); return match; }
function replace(text) { return text.replace(/a+b/g, callback); }
class Made { constructor(text) { replace(text); } }
function parse(text) {
  return JSON.parse('{"a": 1}', function (key, value) {
    if (key === 'a') new Made(text);
    return value;
  }); }
function sort() { return [2, 1].sort((a, b) => { parse('xxaab'); return a - b; }); }
const bound = function (a) { return sort(a); }.bind(null, 1);
const proxy = new Proxy({}, { get(target, key) { return bound(key); } });
function reflect() { return Reflect.apply(function applied() { return proxy.some; }, null, []); }
const defined = Object.defineProperty({}, 'value', { get: () => reflect() });
function each() { [1].forEach((x) => { [x].map((y) => defined.value + y); }); }
class Constructed { constructor() { each(); } }
function construct() { return Reflect.construct(Constructed, []); }
for (let i = 0; i < 3; i++) construct();
Promise.resolve().then(function then() { isReady = true; construct(); });
