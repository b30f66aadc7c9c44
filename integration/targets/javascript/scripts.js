// SPDX-License-Identifier: Apache-2.0
// Scripts of other kinds: eval with and without a name of its own, Function, vm with offsets, sources with other line
// terminators, of characters that are two bytes wide, and made of parts.
'use strict';
const stop = require('./stop.js');
const vm = require('vm');

globalThis.leaf = function leaf() { stop(); };
globalThis.made = new Function('a', 'leaf();\n return a');
globalThis.viaEval = function viaEval() {
  return eval('(function inEval(x) {\n return made(x); })(1)\n//# sourceURL=my-eval.js'); };
globalThis.unnamed = function unnamed() { return (0, eval)('1;\n\n   viaEval()'); };
function run(source, options) { return vm.runInThisContext(source, options); }
globalThis.offset = run('(function inVm(g) {\n return g(unnamed); })',
                        { filename: 'offset.js', lineOffset: 10, columnOffset: 5 });
globalThis.sameLine = run('(function first(g) { return offset((f) => f()); })',
                          { filename: 'same-line.js', lineOffset: 10, columnOffset: 5 });
globalThis.dos = run('\r\n(function dos() {\r\n\r  return sameLine(); })', { filename: 'dos.js' });
globalThis.wide = run('// \u65e5\u672c\u2028// \u2029\n(function wide() { "\u65e5";\u2028 return dos(); })',
                      { filename: 'wide.js' });
let parts = '(function parts() {';
for (let i = 0; i < 3000; i++) parts += '\n // ' + i + ' of many lines';
globalThis.many = run(parts + '\n return wide(); })', { filename: 'parts.js' });
const context = vm.createContext({ many: globalThis.many });
vm.runInContext('(function other() {\n return many(); })()', context, { filename: 'context.js' });
