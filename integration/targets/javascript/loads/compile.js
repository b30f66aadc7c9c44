// SPDX-License-Identifier: Apache-2.0
// The TypeScript compiler compiles and checks the sources of RxJS, over and over: until the file exists that the
// argument names.
'use strict';
const fs = require('fs');
const path = require('path');
const ts = require('typescript');

process.title = 'js-compile';

const root = path.join(path.dirname(require.resolve('rxjs/package.json')), 'src');
const options = { target: ts.ScriptTarget.ES2019, module: ts.ModuleKind.CommonJS, lib: ['lib.es2020.d.ts', 'lib.dom.d.ts'],
  strict: true, noEmitOnError: false, skipLibCheck: true, types: [] };

function compile() {
  const program = ts.createProgram([path.join(root, 'index.ts'), path.join(root, 'operators', 'index.ts')], options);
  const errors = ts.getPreEmitDiagnostics(program).length;
  let bytes = 0;
  program.emit(undefined, (name, text) => {
    bytes += text.length;
  });
  if (!bytes) {
    throw new Error('nothing was compiled, ' + errors + ' errors');
  }
}

fs.writeSync(1, 'ready\n');
while (!fs.existsSync(process.argv[2])) {
  compile();
}
