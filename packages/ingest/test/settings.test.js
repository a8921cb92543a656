'use strict'
// The options of a server by flag, environment and file: the same names, the same values, the same refusals.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { newPath } = require('@millrace/testkit')
const { DEFAULTS, LIMITS, SERVER, parseServerOptions } = require('../lib/options')
const { parseSetting, resolveSettings, settings, variableOf } = require('../settings')
const { createIngest } = require('..')
const { serve } = require('./helpers')

const MIB = 2 ** 20
const byName = Object.fromEntries(settings.map((setting) => [setting.name, setting]))
/** By kind: what may be written, and what it means. */
const SAMPLES = {
  size: [['8388608', 8 * MIB], ['8MiB', 8 * MIB], ['8 mib', 8 * MIB], ['1.5GiB', 1.5 * 2 ** 30], ['2097152B', 2 * MIB]],
  ms: [['1500', 1500], ['1500ms', 1500], ['1.5s', 1500], ['2m', 120_000], ['24h', 86_400_000]],
  days: [['7', 7 * 86_400_000], ['7d', 7 * 86_400_000], ['12h', 12 * 3_600_000]],
  count: [['12', 12]],
  text: [['x y', 'x y']],
  list: [['a', ['a']], ['a, b,', ['a', 'b']]],
  switch: [['true', true], ['YES', true], ['0', false], ['off', false]],
  rate: [['100/1000', { count: 100, windowMs: 1000 }]]
}
const WRONG = {
  size: ['', '-1', 'x', '1XB', '1e9', '0x10', 'MiB', '1.3'],
  ms: ['', '-1', '5 weeks', 'NaN', '1MiB'],
  days: ['0', '1m', 'x'],
  count: ['', '-1', '1.5', '5MiB', 'Infinity'],
  switch: ['maybe', '2', ''],
  choice: ['Written', 'none', ''],
  rate: ['100', '0/1', '1/0', 'a/b', '1/2/3']
}

const valueAt = (options, path) => path.split('.').reduce((at, key) => at?.[key], options)

tape('settings: every option has one, and no other is there', (t) => {
  // An onReport is no text, and these are objects whose members have settings.
  const others = ['onReport', 'log']
  const options = [...Object.keys({ ...DEFAULTS, ...SERVER }), ...Object.keys(LIMITS).map((name) => `limits.${name}`)]
  const paths = settings.map(({ path }) => path).filter((path) => !path.startsWith('log.') && path !== 'accessLog')
  t.deepEqual(paths.sort(), options.filter((name) => !others.includes(name)).sort())
  t.equal(new Set(settings.map(({ name }) => name)).size, settings.length)
  t.end()
})

tape('settings: the same by flag, environment and file', (t) => {
  for (const setting of settings) {
    const { name, path, kind, choices } = setting
    for (const [text, value] of SAMPLES[kind] ?? choices.map((choice) => [choice, choice])) {
      const sources = [
        { flags: { [name]: parseSetting(setting, text) }, env: {} },
        { flags: {}, env: { [variableOf(name)]: text } },
        { flags: {}, env: {}, file: JSON.stringify({ [name]: text }) },
        { flags: {}, env: {}, file: JSON.stringify({ [name]: kind === 'rate' || kind === 'days' ? text : value }) }
      ]
      const found = sources.map((source) => valueAt(resolveSettings(source), path))
      t.deepEqual(found, sources.map(() => value), `${name} ${text}`)
    }
    for (const text of WRONG[kind] ?? []) {
      const message = new RegExp(`^TypeError: ${name}: expected `)
      const [env, file] = [{ [variableOf(name)]: text }, JSON.stringify({ [name]: text })]
      for (const source of [{ flags: {}, env }, { flags: {}, env: {}, file }]) {
        t.throws(() => resolveSettings(source), message, `${name} ${JSON.stringify(text)}`)
      }
    }
  }
  t.end()
})

tape('settings: a flag counts more than the environment, and that more than the file', (t) => {
  const env = { MILLRACE_SERVE_PORT: '2', MILLRACE_SERVE_ACK: 'synced', PORT: '9' }
  const file = '\ufeff{"port": 3, "ack": "buffered", "host-name": ["a", "b"], "batch-count": 5, "max-size": "1GiB", ' +
    '"dictionary": true}'
  t.deepEqual(resolveSettings({ flags: { port: 1 }, env, file }), {
    port: 1, hosts: ['a', 'b'], ack: 'synced', dictionary: true, log: { maxSize: 2 ** 30 }, limits: { batchCount: 5 }
  })
  t.end()
})

tape('settings: what is not known is refused, with what was meant', (t) => {
  const cases = [
    [{ env: { MILLRACE_SERVE_BODYSIZE: '1' } }, /did you mean MILLRACE_SERVE_BODY_SIZE\?/],
    [{ env: { MILLRACE_SERVE_PROT: '1' } }, /did you mean MILLRACE_SERVE_PORT\?/],
    [{ env: { MILLRACE_SERVE_: '1' } }, /not known/],
    [{ file: '{"maxSize": 5}' }, /did you mean max-size\?/],
    [{ file: '{"batch_count": 5}' }, /did you mean batch-count\?/],
    [{ file: '{"something else": 5}' }, /known are port, /],
    [{ file: '{"port": null}' }, /port: expected/],
    [{ file: '{"port": [1]}' }, /port: expected/],
    [{ file: '[]' }, /no JSON object/], [{ file: 'port=1' }, /no JSON object/], [{ file: '' }, /no JSON object/]
  ]
  for (const [source, message] of cases) t.throws(() => resolveSettings({ flags: {}, env: {}, ...source }), message)
  t.doesNotThrow(() => resolveSettings({ flags: {}, env: { MILLRACE_TESTS: 'long', MILLRACE_SERVE_CONFIG: 'x' } }))
  t.end()
})

tape('settings: the defaults are those of createIngest', (t) => {
  for (const { name, path, kind, byDefault } of settings) {
    if (byDefault === undefined) continue
    const options = resolveSettings({ flags: { [name]: byDefault }, env: {} })
    t.doesNotThrow(() => parseServerOptions({ folder: 'x', ...options }), `${path} ${kind}`)
  }
  t.ok(byName['batch-count'].byDefault >= 12_000, 'what a Collector sends')
  t.end()
})

tape('options: those of the logs are checked before the server starts, as those of a log are', async (t) => {
  for (const [log, words] of [
    [{ maxsize: 2 ** 24 }, /no option maxsize; did you mean maxSize/], [{ maxSize: '1GB' }, /maxSize must be a number/],
    [{ maxSize: 2 ** 20, segmentSize: 2 ** 20 }, /at most a quarter of maxSize/], [{ segmentDay: 'daily' }, /time zone/],
    [{ fsync: 'alway' }, /fsync must be one of/], [{ framing: 'jsonl' }, /framing must be/], [{ flags: 'r' }, /no option flags/],
    [{ index: ['user'] }, /index must be/], [{ codec: {} }, /no option codec/]
  ]) {
    t.throws(() => createIngest({ folder: newPath('data'), log }), ({ code, message }) => code === 'ERR_INVALID_ARGUMENT' && words.test(message), String(words))
  }
  const keep = { where: { path: ['value', 'a'], equals: 1 }, maxAge: 1e9 }
  const server = createIngest({ folder: newPath('data'), log: { maxAge: 1e6, keep } })
  await server.ready()
  t.pass('what the records of the server have may be asked for')
  await server.close()
})

tape('limits: a Collector\'s batch of 12,000 records is taken by default, and 64 MiB if the limits are raised', async (t) => {
  const collector = await serve(t)
  const attributes = [{ key: 'method', value: { stringValue: 'GET' } }, { key: 'n', value: { intValue: '7' } }]
  const logRecords = Array.from({ length: 12_000 }, (_, n) => {
    return { timeUnixNano: '1790000000000000000', severityNumber: 9, body: { stringValue: `request ${n} was served` }, attributes }
  })
  const body = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] })
  t.equal((await collector.post('/v1/logs', body)).status, 200)
  const lines = Array.from({ length: 12_000 }, (_, n) => `{"n":${n}}`).join('\n')
  t.equal((await collector.post('/v1/logs/a', lines, { 'content-type': 'application/x-ndjson' })).status, 200)
  const size = 64 * MIB
  const sizes = { 'body-size': '64MiB', 'inflated-size': '64MiB', 'pending-size': '128MiB', 'requests-size': '512MiB' }
  const file = JSON.stringify(sizes)
  const raised = await serve(t, resolveSettings({ flags: {}, env: {}, file }))
  const line = `${JSON.stringify('x'.repeat(64 * 1024 - 3))}\n`
  const large = line.repeat(size / line.length)
  t.equal(large.length, size)
  const { status, text } = await raised.post('/v1/logs/a', large, { 'content-type': 'application/x-ndjson' })
  t.equal(status, 200, text)
  t.equal((await collector.post('/v1/logs/a', large, { 'content-type': 'application/x-ndjson' })).status, 413)
})

tape('settings: the mode is that of every file but the keys', { skip: process.platform === 'win32' }, async (t) => {
  const { post, ask, folder, server } = await serve(t, resolveSettings({ flags: {}, env: { MILLRACE_SERVE_FILE_MODE: '640' } }))
  t.equal((await post('/v1/logs/a', '1')).status, 200)
  t.equal((await post('/v1/se/app/started', '')).status, 200)
  t.equal((await ask('/readyz')).status, 200)
  const shown = () => {
    const all = fs.readdirSync(folder, { recursive: true })
    const files = all.filter((name) => fs.statSync(path.join(folder, name)).isFile())
    return files.map((name) => `${name} ${(fs.statSync(path.join(folder, name)).mode & 0o777).toString(8)}`)
  }
  const whileOpen = shown()
  t.ok(whileOpen.length >= 5, whileOpen.join())
  t.deepEqual(whileOpen.filter((line) => !line.endsWith(' 640')), [])
  await server.close()
  t.ok(shown().some((name) => name.includes('counts')), shown().join())
  t.deepEqual(shown().filter((line) => !line.endsWith(' 640')), [])
  t.throws(() => createIngest({ folder, log: { mode: 640 } }), { code: 'ERR_INVALID_ARGUMENT' })
})
