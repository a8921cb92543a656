'use strict'
// Who may do what: keys, scopes, names of the server, pages of other sites, limits of connections and rate.

const fs = require('node:fs')
const net = require('node:net')
const path = require('node:path')
const tape = require('tape')
const { failureOf, newPath, temporaryFolder, until } = require('@millrace/testkit')
const { createIngest, createKey, listKeys, revokeKey } = require('..')
const { clientOf, rawRequest, serve } = require('./helpers')

const bearer = (secret) => ({ authorization: `Bearer ${secret}` })

tape('keys: two logs, four keys, every combination', async (t) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'keys.json')
  const scopes = [['write:a'], ['read:a'], ['write:b', 'read:b'], ['read:*', 'write:b*']]
  const secrets = []
  for (const list of scopes) secrets.push((await createKey(file, { scopes: list })).secret)
  if (process.platform !== 'win32') t.equal(fs.statSync(file).mode & 0o777, 0o600)
  t.notOk(secrets.some((secret) => fs.readFileSync(file, 'utf8').includes(secret)), 'the file has no secret')
  const { post, read, ask } = await serve(t, { folder })
  t.equal((await post('/v1/logs/a', '1')).status, 401, 'no key')
  t.equal((await post('/v1/logs/a', '1', bearer('mr_x'))).status, 401, 'a wrong key')
  t.match((await ask('/v1/logs/a')).headers.get('www-authenticate'), /Bearer/)
  const may = { a: ['w', 'r', '', 'r'], b: ['', '', 'rw', 'rw'] }
  for (const name of ['a', 'b']) {
    for (const [index, secret] of secrets.entries()) {
      const written = (await post(`/v1/logs/${name}`, '1', bearer(secret))).status
      t.equal(written, may[name][index].includes('w') ? 200 : 403, `key ${index} writes ${name}`)
    }
    for (const [index, secret] of secrets.entries()) {
      const { status } = await read(`/v1/logs/${name}`, bearer(secret))
      t.equal(status, may[name][index].includes('r') ? 200 : 403, `key ${index} reads ${name}`)
    }
  }
  t.deepEqual((await ask('/v1/logs', { headers: bearer(secrets[1]) })).body.logs, ['a'], 'only what it may read')
  t.equal((await ask('/healthz')).status, 200, 'health needs no key')
})

tape('keys: made and revoked while the server runs, and never open again', async (t) => {
  const { folder, post } = await serve(t)
  const file = path.join(folder, 'keys.json')
  t.equal((await post('/v1/logs/a', '1')).status, 200, 'without keys, on the loopback')
  const { secret, key } = await createKey(file, { scopes: ['write:*'], note: 'first' })
  await until(async () => (await post('/v1/logs/a', '1')).status === 401)
  t.equal((await post('/v1/logs/a', '1', bearer(secret))).status, 200)
  await revokeKey(file, key.id)
  await until(async () => (await post('/v1/logs/a', '1', bearer(secret))).status === 401)
  fs.unlinkSync(file)
  await new Promise((resolve) => setTimeout(resolve, 1000))
  t.equal((await post('/v1/logs/a', '1')).status, 401, 'a file that is gone lets nobody in')
  fs.writeFileSync(file, 'nonsense')
  await until(async () => (await post('/v1/logs/a', '1', bearer(secret))).status === 503)
  t.match((await failureOf(() => listKeys(file))).message, /not a file of keys/)
})

tape('keys: without them, no address but the loopback', async (t) => {
  const server = createIngest({ folder: temporaryFolder(), host: '0.0.0.0', port: 0 })
  t.match((await failureOf(() => server.listen())).message, /no keys/)
  await server.close()
  t.match((await failureOf(() => createKey(newPath('k'), { scopes: ['all'] }))).message, /no scope/)
})

tape('keys: if they are lost, nobody is let in who needs one, or the server says what that means', async (t) => {
  const ask = ({ url }, host, path) => rawRequest(url, { path, headers: { host } })
  const store = async ({ url }, host, more) => {
    const headers = { host, 'content-type': 'application/json', ...more }
    return (await rawRequest(url, { path: '/v1/logs/a', method: 'POST', headers, body: '1' })).status
  }
  const name = 'logs.example.com'
  const open = await serve(t, { hosts: [name] })
  t.equal(await store(open, name), 200)
  t.ok(open.reports.some(({ err, log }) => log === 'keys' && err.message.includes(name)), 'it says so at its start')
  t.match(JSON.parse((await ask(open, name, '/readyz')).text).warning, /logs\.example\.com/)
  const own = await serve(t)
  t.deepEqual([own.reports, (await own.ask('/readyz')).body], [[], { status: 'ready' }], 'the loopback is no reason')
  for (const options of [{}, { hosts: [name] }, { host: '0.0.0.0' }]) {
    const folder = temporaryFolder()
    const closed = await serve(t, { folder, requireKeys: true, ...options })
    const host = options.hosts ? name : 'localhost'
    t.equal(await store(closed, host), 401, 'without a file')
    t.equal((await ask(closed, host, '/readyz')).status, 503)
    t.equal((await ask(closed, host, '/healthz')).status, 200)
    t.ok(closed.reports.some(({ log }) => log === 'keys'))
    const { secret } = await createKey(path.join(folder, 'keys.json'), { scopes: ['write:*'] })
    await until(async () => (await ask(closed, host, '/readyz')).status === 200)
    t.equal(await store(closed, host, bearer(secret)), 200)
  }
})

tape('keys: a file that is removed, emptied, cut or made unreadable while the server runs lets nobody in', async (t) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'keys.json')
  const { secret } = await createKey(file, { scopes: ['write:*'] })
  const text = fs.readFileSync(file, 'utf8')
  const { post, reports } = await serve(t, { folder })
  const status = async (headers) => (await post('/v1/logs/a', '1', headers)).status
  const replace = (change) => { fs.rmSync(file, { recursive: true, force: true }); change() }
  const states = [
    ['removed', () => {}, 401], ['emptied', () => fs.writeFileSync(file, ''), 503],
    ['cut', () => fs.writeFileSync(file, text.slice(0, 40)), 503],
    ['without keys', () => fs.writeFileSync(file, '{"keys":[]}'), 401], ['a folder', () => fs.mkdirSync(file), 503],
    ['of another form', () => fs.writeFileSync(file, '{"keys":[{"id":"a","hash":"b","scopes":[1]}]}'), 503],
    ['null', () => fs.writeFileSync(file, '{"keys":[null]}'), 503]
  ]
  for (const [title, change, expected] of states) {
    replace(change)
    await until(async () => (await status(bearer(secret))) === expected)
    t.equal(await status({}), expected, title)
    replace(() => fs.writeFileSync(file, text))
    await until(async () => (await status(bearer(secret))) === 200)
    t.equal(await status({}), 401, `${title}, and restored`)
  }
  t.ok(reports.length < 20, `${reports.length} reports: each failure is said once`)
})

tape('foreign: other names, other sites and other methods are refused', async (t) => {
  const { url, post } = await serve(t)
  const { host } = new URL(url)
  const status = async (options) => (await rawRequest(url, { path: '/v1/logs/a', ...options })).status
  const body = { method: 'POST', body: '1' }
  const type = { 'content-type': 'application/json' }
  t.equal(await status({ ...body, headers: { ...type, host } }), 200)
  t.equal(await status({ ...body, headers: { ...type, host: 'evil.example' } }), 403, 'another name')
  t.equal(await status({ ...body, headers: { ...type, host, origin: 'http://evil.example' } }), 403, 'another origin')
  t.equal(await status({ ...body, headers: { ...type, host, origin: 'null' } }), 403)
  t.equal(await status({ ...body, headers: { ...type, host, origin: `http://${host}` } }), 200, 'its own origin')
  t.equal(await status({ ...body, headers: { ...type, host, 'sec-fetch-site': 'cross-site' } }), 403)
  t.equal(await status({ headers: { host, 'sec-fetch-site': 'same-site' } }), 403)
  t.equal(await status({ method: 'OPTIONS', headers: { host, origin: 'http://evil.example' } }), 403, 'no preflight is granted')
  t.equal(await status({ ...body, headers: { host, 'content-type': 'text/plain' } }), 415, 'no form of a page')
  t.equal(await status({ method: 'HEAD', headers: { host: 'evil.example' } }), 403)
  const refused = await rawRequest(url, { path: '/v1/logs/a', method: 'PUT', headers: { host } })
  t.deepEqual([refused.status, refused.headers.allow], [405, 'POST, GET, HEAD'])
  t.equal((await post('/v1/logs/a', '1')).headers.get('cache-control'), 'no-store')
  const missing = await rawRequest(url, { path: '/v1/nothing', headers: { host } })
  t.equal(missing.status, 404)
  const read = await rawRequest(url, { path: '/v1/logs/a', headers: { host } })
  t.match(read.text, /"value":1/)
  for (const { headers } of [refused, missing, read]) {
    t.deepEqual([headers['cache-control'], headers['x-content-type-options']], ['no-store', 'nosniff'])
  }
})

tape('limits: rate, connections, headers and slow requests', async (t) => {
  const rate = { count: 3, windowMs: 60_000 }
  const { url, post } = await serve(t, { rate, headerSize: 4096, requestMs: 400, connections: 50 })
  const answers = []
  for (let i = 0; i < 5; i++) answers.push(await post('/v1/logs/a', '1'))
  t.deepEqual(answers.map(({ status }) => status), [200, 200, 200, 429, 429])
  t.match(answers[0].headers.get('ratelimit'), /^"default";r=2;t=\d+$/)
  t.ok(Number(answers[4].headers.get('retry-after')) > 0)
  const send = (bytes) => new Promise((resolve) => {
    let answer = ''
    const socket = net.connect(new URL(url).port, '127.0.0.1', () => socket.write(bytes))
    socket.on('data', (data) => { answer += data })
    socket.on('error', () => {})
    socket.on('close', () => resolve(answer.split('\r\n')[0]))
  })
  t.match(await send('GET / HTTP/1.1\r\nHost: localhost\r\nX: ' + 'x'.repeat(5000) + '\r\n\r\n'), / 431 /)
  t.match(await send('\x16\x03\x01 nonsense\r\n\r\n'), / 400 /)
  t.match(await send('GET / HTTP/1.1\r\nHost: localhost\r\nX-Half'), / 408 /, 'half a header')
  t.match(await send('POST /v1/logs/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{'), / (408|429) /, 'half a body')
  const { status } = await clientOf(url).ask('/healthz')
  t.equal(status, 200, 'others were served meanwhile')
})

tape('one server owns a folder: a second one waits, not ready', async (t) => {
  const { server, folder, post } = await serve(t)
  await post('/v1/logs/a', '1')
  const second = createIngest({ folder, port: 0 })
  t.teardown(() => second.close())
  const { ask } = clientOf(await second.listen())
  t.equal((await ask('/readyz')).status, 503)
  t.equal((await ask('/v1/logs/a')).status, 503)
  t.equal((await ask('/healthz')).status, 200)
  await server.close()
  await second.ready()
  t.equal((await ask('/readyz')).status, 200)
  t.equal((await ask('/v1/logs/a')).status, 200)
})

tape('one server owns a folder: one that waits can be closed', async (t) => {
  const { folder } = await serve(t)
  const second = createIngest({ folder, port: 0 })
  await second.listen()
  await second.close()
  t.pass('it has ended')
})
