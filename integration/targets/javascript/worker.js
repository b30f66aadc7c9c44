// SPDX-License-Identifier: Apache-2.0
// Two threads with an isolate each: both wait, with functions of their own.
'use strict';
const { Worker, isMainThread } = require('worker_threads');
const stop = require('./stop.js');

function inWorker() { stop(); }
function inMain() { stop(); }
if (isMainThread) {
  new Worker(__filename).on('online', function online() { inMain(); });
} else {
  inWorker();
}
