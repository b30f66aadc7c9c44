// SPDX-License-Identifier: Apache-2.0
// What targets call in their innermost function: it waits for ever, or with the argument `reference` prints the frames
// of its callers as V8 itself names them, innermost first, and ends the process. Taking a stack changes what V8 keeps
// of scripts, so a process does one of the two.
'use strict';

const word = new Int32Array(new SharedArrayBuffer(4));

Error.stackTraceLimit = Infinity;

function describe(site) {
  return {
    function: site.getFunctionName() || '',
    script: site.getScriptNameOrSourceURL() || '',
    line: site.getLineNumber(),
    column: site.getColumnNumber(),
    isNative: site.isNative(),
    isConstructor: site.isConstructor(),
    isEval: site.isEval(),
    isAsync: site.isAsync(),
  };
}

// The scripts of this process, by their ids: these and the stacks are read when nothing of them changes any more.
function findScripts() {
  const scripts = {};
  const session = new (require('inspector').Session)();
  session.connect();
  session.on('Debugger.scriptParsed', ({ params }) => { scripts[params.scriptId] = params.url; });
  session.post('Debugger.enable');
  return scripts;
}

function report() {
  const holder = {};
  Error.prepareStackTrace = (error, sites) => sites.map(describe);
  Error.captureStackTrace(holder, report);
  require('fs').writeSync(1, JSON.stringify({ stack: holder.stack, scripts: findScripts() }));
  process.exit(0);
}

function wait() {
  Atomics.wait(word, 0, 0);
}

module.exports = process.argv[2] === 'reference' ? report : wait;
