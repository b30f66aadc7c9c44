// SPDX-License-Identifier: Apache-2.0
// A server that answers with JSON and with pages made of templates, and in a process of its own the client that asks it, over
// and over: until the file exists that the argument names.
'use strict';
const fs = require('fs');
const http = require('http');
const { fork } = require('child_process');

// As an argument: this process is the client.
const CLIENT = 'client';
const CONNECTIONS = 8;

const TEMPLATE = `<html><body><h1><%= title %></h1><table>
<% rows.forEach(row => { %><tr><td><%= row.id %></td><td><%= row.name.toUpperCase() %></td>
<td><%= row.tags.filter(tag => tag !== 'none').join(', ') %></td></tr><% }) %></table></body></html>`;

function makeRows(count) {
  return Array.from({ length: count }, (_, id) => ({ id, name: 'row <' + id + '>', tags: ['a' + id % 7, 'none', 'b'],
    price: id * 1.25, when: new Date(1700000000000 + id * 1000).toISOString() }));
}

function serve() {
  const express = require('express');
  const ejs = require('ejs');
  const page = ejs.compile(TEMPLATE);
  const app = express();

  app.use(express.json({ limit: '1mb' }));
  app.get('/page/:count', (request, response) => {
    response.send(page({ title: request.query.title, rows: makeRows(Number(request.params.count)) }));
  });
  app.post('/sum', (request, response) => {
    const byTag = new Map();
    for (const row of request.body) {
      for (const tag of row.tags) {
        byTag.set(tag, (byTag.get(tag) || 0) + row.price);
      }
    }
    response.json({ sums: Object.fromEntries([...byTag].sort((a, b) => b[1] - a[1])), rows: request.body });
  });
  // Who samples it may stop it for a while.
  const server = app.listen(0, '127.0.0.1', () => {
    server.keepAliveTimeout = 0;
    // The server may have come with a scheduling class of its own, which is not for the client.
    fork(__filename, [CLIENT, server.address().port], { execPath: 'chrt', execArgv: ['-o', '0', process.execPath] });
    fs.writeSync(1, 'ready\n');
    setInterval(() => fs.existsSync(process.argv[2]) && process.exit(), 100);
  });
}

function ask(port) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const body = JSON.stringify(makeRows(100));

  function request(turn) {
    const isPost = turn % 2 === 0;
    const sent = http.request({ port, agent, host: '127.0.0.1', method: isPost ? 'POST' : 'GET',
      path: isPost ? '/sum' : '/page/60?title=turn%20' + turn,
      headers: isPost ? { 'Content-Type': 'application/json', 'Content-Length': body.length } : {} }, response => {
      const chunks = [];
      response.on('data', chunk => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        if (isPost ? !JSON.parse(text).sums : !text.includes('turn ')) {
          throw new Error('not what was asked for: ' + text.slice(0, 200));
        }
        request(turn + 1);
      });
    });
    sent.on('error', () => setTimeout(request, 10, turn));
    sent.end(isPost ? body : undefined);
  }

  for (let i = 0; i < CONNECTIONS; i++) {
    request(i);
  }
}

if (process.argv[2] === CLIENT) {
  process.on('disconnect', process.exit);
  ask(Number(process.argv[3]));
} else {
  process.title = 'js-serve';
  serve();
}
