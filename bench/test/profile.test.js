'use strict'

const tape = require('tape')
const { shareOut, nameOf, packageOf } = require('../engine/profile')
const { runBench } = require('./support')

const frame = (functionName, url, lineNumber = 0) => ({ functionName, url: url && `file:///somewhere/${url}`, lineNumber })
const nodes = [
  { id: 1, callFrame: frame('(root)', '') },
  { id: 2, callFrame: frame('(idle)', '') },
  { id: 3, callFrame: frame('append', 'packages/offset-log/lib/log.js', 9) },
  { id: 4, callFrame: frame('(garbage collector)', '') },
  { id: 5, callFrame: { functionName: 'wrapSafe', url: 'node:internal/modules/cjs/loader', lineNumber: 1 } },
  { id: 6, callFrame: frame('', 'node_modules/@node-rs/crc32/node_modules/deep/codec.js') },
  { id: 7, callFrame: { functionName: 'readSync', url: 'node:fs', lineNumber: 1 } }
]
const profile = { nodes, samples: [1, 2, 3, 4, 5, 6, 3, 7], timeDeltas: [5, 500, 20, 10, 100, 40, 5, 25] }

tape('profile: the functions that took the most time, of all threads, without waiting and loading', (t) => {
  t.deepEqual(shareOut([profile, profile], nameOf), [
    { name: '(anonymous), codec.js:1', share: 0.4 },
    { name: 'append, log.js:10', share: 0.25 },
    { name: 'readSync, node:fs:2', share: 0.25 },
    { name: '(garbage collector)', share: 0.1 }
  ])
  t.end()
})

tape('profile: the shares of packages, a package inside of another one by its own name', (t) => {
  t.deepEqual(shareOut([profile], packageOf).map(({ name }) => name), ['deep', 'offset-log', 'Node.js', 'garbage collection'])
  t.end()
})

tape('profile: a row is shown by package, and nothing is measured or written', (t) => {
  const { status, stdout, stderr } = runBench('--profile', '--layers', 'json', '--stacks', 'checked', '--blocks', '64',
    '--records', '3000')
  t.equal(status, 0, stderr)
  t.ok(/^row json, checked, 65536$/m.test(stdout) && stdout.includes('json-codec'), stdout)
  t.notOk(stdout.includes('written'))
  t.end()
})

tape('profile: a server is shown apart from the client that asks it', (t) => {
  const { status, stdout, stderr } = runBench('ingest', '--profile', '--rows', 'http-single', '--peers', 'empty', '--seconds', '1')
  t.equal(status, 0, stderr)
  const [client, server] = stdout.split(/^row http-single, empty/m).slice(1)
  t.ok(client?.includes('autocannon'), stdout)
  t.ok(server?.startsWith(', its server\n') && server.includes('fastify') && !server.includes('autocannon'), stdout)
  t.end()
})
