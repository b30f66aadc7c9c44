// SPDX-License-Identifier: Apache-2.0
// A recursion 1,000 deep.
'use strict';
const stop = require('./stop.js');

function down(n) {
  if (n === 0) return stop();
  return down(n - 1) + 1; }
down(1000);
