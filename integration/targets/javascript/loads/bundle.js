// SPDX-License-Identifier: Apache-2.0
// Rollup bundles Lodash and RxJS from their modules, over and over: until the file exists that the argument names.
'use strict';
const fs = require('fs');
const path = require('path');
const { rollup } = require('rollup');

process.title = 'js-bundle';

const lodash = path.dirname(require.resolve('lodash-es/package.json'));
const rxjs = path.dirname(require.resolve('rxjs/package.json'));
const inputs = [path.join(lodash, 'lodash.js'), path.join(rxjs, 'dist', 'esm', 'index.js')];

// Modules are read without a wait, so that all time is spent on the CPU.
const reader = {
  name: 'reader',
  resolveId(source, importer) {
    return importer && source.startsWith('.') ? path.join(path.dirname(importer), source.replace(/(\.js)?$/, '.js')) : null;
  },
  load(id) {
    return fs.readFileSync(id, 'utf8');
  },
};

async function bundle(input) {
  const made = await rollup({ input, plugins: [reader], external: ['tslib'], onwarn() {} });
  const { output } = await made.generate({ format: 'es', sourcemap: true });
  if (output[0].code.length < 10000) {
    throw new Error('nothing was bundled');
  }
  await made.close();
}

async function main() {
  fs.writeSync(1, 'ready\n');
  while (!fs.existsSync(process.argv[2])) {
    for (const input of inputs) {
      await bundle(input);
    }
  }
}

main();
