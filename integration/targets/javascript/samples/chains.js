// SPDX-License-Identifier: Apache-2.0
// Functions that call each other in many ways, over and over. A function names, on the line where it calls another
// one, that function: the test reads it there. So callbacks stand on the line of the call that they are passed to.
// The argument is the name of the process.
//
// depth: descend=200
'use strict';
const fs = require('fs');

process.title = process.argv[2] || 'chains';

function spin(count) {
  let sum = 0;
  for (let i = 0; i < count; i++) {
    sum += Math.sqrt(i) ^ i;
  }
  return sum;
}

function inMap(items) {
  return items.map(function each(item) {
    return spin(item);
  });
}

function inSort(items) {
  return items.slice().sort(function compare(a, b) {
    return spin(300) > 0 ? a - b : 0;
  });
}

function inReplace(text) {
  return text.replace(/[a-c]/g, function replaceOne(letter) {
    return spin(400) + letter;
  });
}

function inForEach(set) {
  set.forEach(function visit(value) {
    spin(value);
  });
}

function inReviver() {
  return JSON.parse('{"a": [1, 2, {"b": 3}]}', function revive(key, value) {
    return spin(200) ? value : key;
  });
}

class Shape {
  #side = 20;
  constructor(side) {
    this.#side = this.measure(side);
  }
  measure(side) {
    return spin(side * 20) ? side : 0;
  }
  get area() {
    return spin(this.#side * 20);
  }
  #hidden() {
    return spin(400);
  }
  reveal() {
    return this.#hidden();
  }
  static make(side) {
    return new Shape(side);
  }
}

class Square extends Shape {
  constructor(side) {
    super(side + 1); // Shape
  }
}

function inClasses() {
  const shape = Shape.make(20);
  return shape.area + shape.reveal();
}

function inSubclass() {
  return new Square(20);
}

function* generate() {
  for (let i = 0; i < 3; i++) {
    yield spin(400);
  }
}

function inGenerator() {
  let sum = 0;
  for (const value of generate()) sum += value;
  return sum;
}

function fail() {
  spin(400);
  throw new Error('expected');
}

function inFinally() {
  try {
    fail();
  } catch {
    spin(300);
  } finally {
    spin(300);
  }
}

function level3(n) {
  return spin(n) + 1;
}

function level2(n) {
  return level3(n) + 1;
}

function level1(n) {
  return level2(n) + 1;
}

function inInlined() {
  let sum = 0;
  for (let i = 0; i < 20; i++) {
    sum += level1(100);
  }
  return sum;
}

function descend(n) {
  if (n > 1) {
    return descend(n - 1) + 1;
  }
  return spin(3000);
}

function makeAdder(n) {
  spin(300);
  return function add(x) {
    return spin(n) + x;
  };
}

const adder = makeAdder(500);

function inClosure() {
  return adder(1); // add
}

function inApply() {
  return Reflect.apply(spin, null, [500]);
}

function inBound() {
  return boundSpin(); // spin
}

const boundSpin = spin.bind(null, 500);

async function inAsync() {
  await null;
  return spin(500);
}

function runAll() {
  const items = [100, 300, 200];
  inMap(items);
  inSort(items);
  inReplace('abcd');
  inForEach(new Set(items));
  inReviver();
  inClasses();
  inSubclass();
  inGenerator();
  inFinally();
  inInlined();
  descend(200);
  inClosure();
  makeAdder(300);
  inApply();
  inBound();
  inAsync();
}

function main() {
  for (let i = 0; i < 20; i++) {
    runAll();
  }
  setImmediate(main);
}

fs.writeSync(1, 'ready\n');
main();
