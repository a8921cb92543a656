'use strict'
// Presets, other streams beside the log, and the end before a deadline.

const pino = require('pino')
const tape = require('tape')
const { Forwarder } = require('@millrace/forwarder')
const { destination, formatPretty, preset } = require('..')
const { newFolder, readAll, run } = require('./helper')

const NAMES = ['development', 'production', 'fastify', 'serverless', 'hardened', 'minimal']

for (const name of NAMES) {
  tape(`preset ${name}: logs`, async (t) => {
    const folder = newFolder()
    const { status, stderr, stdout } = run(`
      const { preset } = require(${JSON.stringify(require.resolve('..'))})
      const [options, to] = preset('${name}', folder)
      const logger = pino(options, to)
      to.ready().then(() => { logger.info({ a: 1 }, 'hi'); process.exit() })`, folder)
    t.deepEqual([status, stderr], [0, ''])
    const [{ msg, a, pid }] = await readAll(folder)
    t.deepEqual([msg, a, pid === undefined], ['hi', 1, name === 'minimal'])
    const shown = { development: /INFO {2}hi\n {4}a: 1\n$/, serverless: /^\{.*"hi"\}\n$/ }[name] ?? /^$/
    t.match(stdout, shown)
  })
}

tape('presets: can be changed, and one does not change the next', (t) => {
  const [options, to] = preset('hardened', newFolder(), { redact: false, log: { maxSize: 2 ** 24 } })
  options.redact.paths.push('more')
  const [others, other] = preset('hardened', newFolder())
  t.notOk(others.redact.paths.includes('more'))
  t.throws(() => preset('strict', newFolder()), { code: 'ERR_INVALID_ARGUMENT' })
  t.throws(() => preset('toString', newFolder()), { code: 'ERR_INVALID_ARGUMENT' })
  Promise.all([to.close(), other.close()]).then(() => t.end())
})

tape('preset hardened: an error is on the disk when the call returns', async (t) => {
  const [options, to] = preset('hardened', newFolder())
  await to.ready()
  pino(options, to).error('failed')
  t.equal(to.log.durable.value, to.log.since.value)
  await to.close()
})

tape('tee: a stream that is stuck, broken, or throws, takes nothing from the log', async (t) => {
  const folder = newFolder()
  let fail
  const stuck = { writableLength: 2 ** 21, write: () => t.fail('it has enough') }
  const broken = { write: () => t.fail('nobody reads'), on: (event, listener) => { fail = listener } }
  const throwing = { write: () => { throw new Error('planned') } }
  for (const tee of [stuck, broken, throwing]) {
    const to = destination(folder, { tee })
    if (tee === broken) fail()
    pino(to).info('kept')
    await to.close()
    t.equal(to.teeSkippedCount, 1)
  }
  t.equal((await readAll(folder)).length, 3)
  t.throws(() => destination(newFolder(), { tee: 'file' }), { code: 'ERR_INVALID_ARGUMENT' })
})

tape('tee: a file on a full disk gets lines again once there is room', async (t) => {
  const seen = []
  let fail
  const on = (event, listener) => { fail = listener }
  const stream = { write: (line) => seen.push(JSON.parse(line).msg), on, destroyed: false }
  const to = destination(newFolder(), { tee: stream })
  const logger = pino(to)
  for (const code of ['ENOSPC', 'EIO', 'EPIPE']) {
    fail(Object.assign(new Error('planned'), { code }))
    logger.info(code)
  }
  t.deepEqual(seen, ['ENOSPC', 'EIO'], 'but no more once its reader has ended')
  t.equal(to.teeSkippedCount, 1)
  await to.close()
  const destroyed = destination(newFolder(), { tee: { ...stream, write: () => t.fail('it takes no more'), destroyed: true } })
  fail(Object.assign(new Error('planned'), { code: 'ENOSPC' }))
  pino(destroyed).info('left out')
  t.equal(destroyed.teeSkippedCount, 1)
  await destroyed.close()
})

tape('tee: gets what the level lets through', async (t) => {
  const seen = []
  const to = destination(newFolder(), { tee: { write: (line) => seen.push(JSON.parse(line).msg) }, level: 'warn' })
  pino(to).info('not wanted')
  pino(to).warn('wanted')
  t.deepEqual(seen, ['wanted'])
  await to.close()
})

tape('drain: waits for a forwarder, but not beyond the deadline', async (t) => {
  const to = destination(newFolder())
  await to.ready()
  const sent = []
  const down = Forwarder(to.log, { name: 'down', sink: () => new Promise(() => {}), unref: true })
  pino(to).info('hi')
  t.equal(await to.drain({ withinMs: 50, forwarder: down }), false)
  const sink = (records) => { sent.push(...records.map(({ value }) => value.msg)) }
  const up = Forwarder(to.log, { name: 'up', sink, unref: true })
  t.equal(await to.drain({ withinMs: 20_000, forwarder: up }), true)
  t.deepEqual(sent, ['hi'])
  t.equal(await to.drain({ withinMs: 5000 }), true)
  await to.drain({}).catch(({ code }) => t.equal(code, 'ERR_INVALID_ARGUMENT'))
  await Promise.all([up.close(), down.close()])
  await to.close()
})

tape('pretty: any record is a text, with colours if they are wanted', (t) => {
  const record = { level: 50, time: 1795392000000, name: 'app', msg: 'no', err: { type: 'E', message: 'no', stack: 'E: no\n  at x', code: 7 }, a: { b: 1 } }
  t.match(formatPretty(record), /^2026-11-2\d \d\d:\d\d:00\.000 ERROR \(app\) no\n {4}E: no\n {6}at x\n {4}code: 7\n {4}a: \{"b":1\}$/)
  t.ok(formatPretty(record, { colors: true }).includes('\u001b[31mERROR\u001b[0m'))
  for (const value of [null, 7, 'x', [], {}, { level: {}, time: {}, msg: null, err: 'text' }, { time: 'not a time' }]) {
    t.equal(typeof formatPretty(value), 'string')
  }
  t.match(formatPretty({ text: 'hi', failure: { stack: 'E' } }, { messageKey: 'text', errorKey: 'failure' }), /hi\n {4}E$/)
  t.end()
})
