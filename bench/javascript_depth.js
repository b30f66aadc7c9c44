// SPDX-License-Identifier: Apache-2.0
// javascript_depth.js N [COUNT]: N calls deep in JavaScript, in turns of COUNT functions (as many as calls, if there is none);
// then busy for ever.
'use strict';
const fs = require('fs');

const ROUNDS = 20000;
const depth = Number(process.argv[2]);
const count = Number(process.argv[3] || depth);
const names = Array.from({ length: count }, (_, i) => 'call' + i);
const state = { isWarm: false, sink: 0 };

function leaf() {
  if (!state.isWarm) {
    return 0;
  }
  fs.writeSync(1, 'ready\n');
  for (;;) {
    state.sink++;
  }
}

const call = new Function('leaf', names.map((name, i) =>
  `function ${name}(depth) { return depth > 1 ? ${names[(i + 1) % count]}(depth - 1) : leaf(); }`).join('\n') +
  '\nreturn call0;')(leaf);

// Until the compilers have nothing left to do.
for (let i = 0; i < ROUNDS; i++) {
  call(depth);
}
setTimeout(() => {
  for (let i = 0; i < ROUNDS; i++) {
    call(depth);
  }
  state.isWarm = true;
  call(depth);
}, 200);
