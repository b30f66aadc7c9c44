// SPDX-License-Identifier: Apache-2.0
// Calls in as many ways as there are, each of them short and none deep, over and over, so that instructions that are
// picked at random are of many builtins. No part waits.
'use strict';
const fs = require('fs');

function add(a, b) {
  return a + b;
}

function rest(first, ...others) {
  return others.length + first;
}

function defaults(a = 1, b = a) {
  return a + b;
}

function readArguments() {
  return arguments.length;
}

const bound = add.bind(null, 1);
const boundTwice = bound.bind(null, 2);
const proxied = new Proxy({ a: 1 }, { get: (target, name) => target[name], has: () => true });
const proxiedFunction = new Proxy(add, { apply: (target, self, values) => target(...values) });

class Base {
  #value = 1;
  static count = 0;
  constructor(value) {
    this.#value = value;
    Base.count++;
  }
  get value() {
    return this.#value;
  }
  set value(value) {
    this.#value = value;
  }
  [Symbol.toPrimitive]() {
    return this.#value;
  }
}

class Derived extends Base {
  constructor(...values) {
    super(...values);
    this.other = add(1, 2);
  }
}

class Implied extends Derived {}

function inCalls(list) {
  let sum = add(1) + add(1, 2, 3, 4) + rest(1, 2, 3) + rest() + defaults() + defaults(1, 2, 3);
  sum += readArguments() + readArguments(1, 2, 3) + bound(2) + boundTwice(1, 2, 3);
  sum += add.call(null, 1, 2) + add.apply(null, list) + Reflect.apply(add, null, list) + add(...list);
  sum += rest(...list, ...list) + proxiedFunction(1, 2) + proxied.a + ('b' in proxied);
  return sum + (() => add(sum, 1))();
}

function inConstruction(list) {
  const base = new Base(1), derived = new Derived(...list), implied = new Implied(3, 4);
  base.value = derived.value + implied;
  Reflect.construct(Derived, list, Base);
  return [base, new Map([[1, 2]]), new Set(list), new Array(3), new Array(1, 2, 3), new Date(0), new Uint8Array(4)];
}

function inArrays(list) {
  const even = list.filter((value) => value % 2 === 0).map((value) => value + 1);
  even.push(list.reduce((sum, value) => sum + value, 0), list.find((value) => value > 2), ...list);
  even.sort((a, b) => a - b);
  even.forEach(add);
  even.splice(1, 1, 5);
  return [even.indexOf(5), even.includes(9), even.join(), even.slice(1).concat(list), Array.from(list, add), even.flatMap((value) => [value]),
    even.some((value) => value > 100), even.every(Number.isFinite), even.findIndex((value) => value === 5), even.reverse().shift(), even.pop()];
}

function inObjects(object) {
  const copy = { ...object, more: 1 };
  delete copy.more;
  const entries = Object.entries(copy).concat(Object.keys(object));
  Object.defineProperty(copy, 'hidden', { get: () => 1 });
  let count = copy.hidden;
  for (const name in object) count += name.length;
  for (const [name, value] of Object.entries(object)) count += name.length + value;
  const { a, ...others } = object;
  return [entries, count, Object.fromEntries(Object.entries(object)), Object.assign({}, others), a, object.missing?.b, 'a' in object,
    Object.prototype.hasOwnProperty.call(object, 'a'), object instanceof Base, typeof object, JSON.stringify(object)];
}

function inStrings(text) {
  const replaced = text.replace(/b(.)/g, (all, letter) => letter + all).split(',');
  return [replaced, /(\d+)-(?<name>x*)/.exec(text), /^a/.test(text), text.match(/./g), [...text], text.charCodeAt(1), text.toUpperCase(),
    text + replaced.length, text.padStart(12), text.indexOf('c'), `${text}:${replaced}`, text.substring(1, 3), text.localeCompare('b'),
    parseInt('12', 10), String(12.5), Number('1e3'), text.repeat(2).trim(), text === replaced[0], text < 'b', JSON.parse('{"a":[1,2]}', (name, value) => value)];
}

function* generate(count) {
  for (let i = 0; i < count; i++) {
    yield add(i, 1);
  }
}

function* delegate() {
  yield* generate(3);
  return 1;
}

async function inAsync(value) {
  const got = await value;
  await Promise.all([add(got, 1), Promise.resolve(2).then((two) => add(two, 1))]);
  for await (const item of asyncGenerate()) add(item, 1);
}

async function* asyncGenerate() {
  yield 1;
  yield await add(1, 2);
}

function thrower(kind) {
  if (kind) throw kind;
  return null.field;
}

function inErrors() {
  let count = 0;
  for (const kind of [1, 0]) {
    try {
      thrower(kind);
    } catch (error) {
      count += typeof error === 'number' ? error : error.message.length;
    } finally {
      count++;
    }
  }
  return count;
}

function inCollections() {
  const map = new Map(), set = new Set(), weak = new WeakMap();
  for (let i = 0; i < 6; i++) {
    map.set(i, add(i, i)).set('k' + i, i);
    set.add(i % 3);
  }
  map.forEach((value, key) => weak.set(map, [value, key]));
  set.delete(1);
  return [map.get(3), map.has('k9'), [...map.keys()], [...set], set.size, weak.get(map), map.delete(1)];
}

function inNumbers(n) {
  const typed = new Float64Array(8).fill(1.5).map((value) => value * n);
  return [BigInt(n) * 3n ** 20n, Math.max(...typed), Math.pow(n, 0.5), n / 3 | 0, n.toString(36), (n * 1e9).toFixed(2), -n >>> 1, typed.subarray(1, 3).length,
    Math.floor(n + 0.5), n % 3, new DataView(new ArrayBuffer(8)).getInt32(0), isNaN(n), ++n, n++, !n, ~n];
}

function deoptimized(value) {
  return value.field + 1;
}

function inDeoptimization(round) {
  let sum = 0;
  for (let i = 0; i < 20; i++) sum += deoptimized({ field: 1 });
  return sum + (round % 50 ? 0 : deoptimized({ other: 1, field: 'text' + round }));
}

function inEval(round) {
  return eval('add(round, 1)') + new Function('a', 'return a + 1')(round) + add(round, 0);
}

function recurse(n) {
  return n ? recurse(n - 1) + 1 : 0;
}

let kept;

function runAll(round) {
  const list = [3, 1, 2, 4, round % 5];
  kept = [inCalls(list), inConstruction(list), inArrays(list), inObjects({ a: 1, b: 2, c: round % 3 }), inStrings('abc,12-xx,bd')];
  kept.push([...generate(4)], [...delegate()], inErrors(), inCollections(), inNumbers(round), inDeoptimization(round), recurse(9));
  if (round % 10 === 0) kept.push(inEval(round));
  inAsync(Promise.resolve(round));
}

let rounds = 0;

function main() {
  for (let i = 0; i < 5; i++) {
    runAll(rounds++);
  }
  setImmediate(main);
}

fs.writeSync(1, 'ready\n');
main();
