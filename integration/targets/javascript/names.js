// SPDX-License-Identifier: Apache-2.0
// Functions whose names come from elsewhere: accessors, computed and symbol methods, generators, async functions,
// classes and their fields, names that are inferred, that there are none, and that are not ASCII: ünïcödé, 日本.
//
// named: object=computed1 object=[Symbol.iterator] First=<instance_members_initializer>
'use strict';
const stop = require('./stop.js');

function leaf() { stop(); }
const object = {
  get accessor() { leaf(); return 1; },
  set accessor(value) { this.accessor; },
  ['computed' + 1]() { this.accessor = 1; },
  *generator() { this.computed1(); },
  async asynchronous() { for (const x of this.generator()) { x; } },
  [Symbol.iterator]() { this.asynchronous(); return [][Symbol.iterator](); },
  arrow: () => { for (const x of object) { x; } },
};
class First {
  #private() { return object.arrow(); }
  static #both(a) { return a.#private(); }
  field = First.#both(this);
  static { this.made = 1; }
  constructor() { this.after = 1; }
  get [Symbol.toStringTag]() { return 'x'; }
}
class Second extends First { constructor() { super(); } }
class Third extends Second {}
const inferred = function () { return new Third(); };
const holder = { deep: { er: function () { return inferred(); } } };
const 日本 = () => { '日本😀'; return holder.deep.er(); };
function own() { return (function ünïcödé() { return 日本(); })(); }
const closures = [1, 2].map((n) => () => own(n));
(function () { try { closures[1](); } catch (error) { throw error; } finally { closures.length; } })();
