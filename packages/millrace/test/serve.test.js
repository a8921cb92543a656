'use strict'
// The commands serve and keys.

const { spawn } = require('node:child_process')
const fs = require('node:fs')
const net = require('node:net')
const path = require('node:path')
const tape = require('tape')
const { newPath, temporaryFolder, until } = require('@millrace/testkit')
const { BIN, runCommand } = require('./run-command')

/** Runs `millrace serve`, uses it, and ends it. */
async function withServer (folder, words, use) {
  let child
  const ended = runCommand(['serve', folder, '--port', '0', ...words], { input: null, onSpawn: (spawned) => { child = spawned } })
  const url = await new Promise((resolve) => child.stdout.once('data', (data) => resolve(String(data).trim())))
  await until(async () => (await fetch(`${url}/readyz`)).status === 200)
  await use(url)
  child.kill('SIGTERM')
  return await ended
}

tape('serve: takes records, and loses none when it is stopped; keys are made and revoked', async (t) => {
  const folder = newPath('data')
  const send = (url, key) => fetch(`${url}/v1/logs/events?ack=buffered`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) },
    body: '{"user":"ada"}'
  })
  const access = path.join(folder, 'access')
  const { signal, stderr } = await withServer(folder, ['--access-log', access], async (url) => {
    t.equal((await send(url)).status, 202)
  })
  t.deepEqual([signal, stderr], ['SIGTERM', ''])
  const lines = (await runCommand(['cat', access])).stdout.trimEnd().split('\n').map((line) => JSON.parse(line))
  t.ok(lines.some(({ path, status }) => path === '/v1/logs/events' && status === 202), 'the access log has the request')
  const made = await runCommand(['keys', 'create', folder, '--scope', 'write:events', '--note', 'tests'])
  t.match(made.stdout, /^mr_[\w-]{43}\n$/)
  const { stdout } = await runCommand(['keys', 'list', folder])
  const [id] = stdout.split(' ')
  t.match(stdout, /^[0-9a-f]{8} {2}\S+ {2}write:events {2}tests\n$/)
  await withServer(folder, ['--dictionary'], async (url) => {
    t.equal((await send(url)).status, 401)
    t.equal((await send(url, made.stdout.trim())).status, 202)
    t.equal((await runCommand(['keys', 'revoke', folder, id])).code, 0)
    await until(async () => (await send(url, made.stdout.trim())).status === 401)
  })
  t.equal((await runCommand(['keys', 'revoke', folder, id])).code, 2, 'it is gone')
  t.equal((await runCommand(['keys', 'create', folder])).code, 2, 'a key needs a scope')
  const refused = await runCommand(['serve', folder, '--host', '0.0.0.0'])
  t.equal(refused.code, 2)
  t.match(refused.stderr, /keys create/)
})

tape('serve: options of a file are used, and one that is not known is refused', async (t) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'serve.json')
  fs.writeFileSync(file, '{"require-keys": true, "host": "0.0.0.0", "ack": "synced"}')
  const data = path.join(folder, 'data')
  let child
  const ended = runCommand(['serve', data, '--port', '0', '--config', file, '--host', '127.0.0.1'], {
    input: null, onSpawn: (spawned) => { child = spawned }
  })
  const url = await new Promise((resolve) => child.stdout.once('data', (bytes) => resolve(String(bytes).trim())))
  t.match(url, /127\.0\.0\.1/, 'a flag counts more')
  const headers = { 'content-type': 'application/json' }
  t.equal((await fetch(`${url}/v1/logs/a`, { method: 'POST', headers, body: '1' })).status, 401)
  child.kill('SIGTERM')
  t.match((await ended).stderr, /^millrace: keys: there is no key in /)
  fs.writeFileSync(file, '{"require-key": true}')
  const { code, stderr } = await runCommand(['serve', data, '--config', file])
  t.equal(code, 2)
  t.match(stderr, /did you mean require-keys\?/)
})

for (const [what, stdio] of [
  ['the reader of its errors has ended', () => ['ignore', 'ignore', 'pipe']],
  ['its errors go to a full disk', () => ['ignore', 'ignore', fs.openSync('/dev/full', 'w')]],
  ['the reader of its output has ended', () => ['ignore', 'pipe', 'ignore']],
  ['its output goes to a full disk', () => ['ignore', fs.openSync('/dev/full', 'w'), 'ignore']]
]) {
  tape(`serve: it goes on when ${what}`, { skip: !fs.existsSync('/dev/full') }, async (t) => {
    const folder = newPath('data')
    const port = await findFreePort()
    const child = spawn(process.execPath, [BIN, 'serve', folder, '--port', String(port)], { stdio: stdio() })
    const ended = new Promise((resolve) => child.on('exit', (code, signal) => resolve([code, signal])))
    child.stdout?.destroy()
    child.stderr?.destroy()
    const statusOf = (path, options) => fetch(`http://127.0.0.1:${port}${path}`, options).then(({ status }) => status, () => null)
    const send = () => statusOf('/v1/logs/x?ack=synced', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '1' })
    await until(async () => child.exitCode !== null || await statusOf('/readyz') === 200)
    t.equal(await send(), 200)
    fs.renameSync(path.join(folder, 'log-x'), path.join(folder, 'moved'))
    t.equal(await send(), 503, 'a failure that the server tells of')
    await until(async () => child.exitCode !== null || await send() === 200)
    child.kill('SIGTERM')
    t.deepEqual(await ended, [null, 'SIGTERM'])
  })
}

function findFreePort () {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}
