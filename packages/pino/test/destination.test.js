'use strict'
// The methods and events of a destination, as pino and its users call them.

const { once } = require('node:events')
const fs = require('node:fs')
const { Readable } = require('node:stream')
const { promisify } = require('node:util')
const pino = require('pino')
const tape = require('tape')
const { lines } = require('@millrace/log-writer')
const { OffsetLog } = require('@millrace/offset-log')
const { collectThrown, newPath, until } = require('@millrace/testkit')
const { destination } = require('..')
const { newFolder, readAll } = require('./helper')

/** A codec that gives the texts of the records. */
const texts = { name: 'json', encode: String, decode: String, buffer: true }
const silent = { onReport: () => {} }

tape('lines: are stored as the bytes that pino made', async (t) => {
  const folder = newFolder()
  const made = []
  const to = destination(folder)
  const logger = pino({ name: 'app' }, pino.multistream([{ stream: { write: (line) => made.push(line) } }, { stream: to }]))
  logger.info('Grüße \u2028 "quoted" \ud83d\ude00')
  logger.child({ id: 1 }).warn({ err: new Error('planned') }, 'failed %s', 'twice')
  logger.error({ nested: { deep: [1, 2.5e-7, null] }, un: undefined })
  to.end()
  await once(to, 'close')
  t.deepEqual((await readAll(folder, { codec: texts })).map((text) => text + '\n'), made)
})

tape('lines: of two keys, the last one counts, also in a filter', async (t) => {
  const folder = newFolder()
  const to = destination(folder)
  const child = pino(to).child({ user: 'ada', tag: 'a' }).child({ user: 'bob' })
  child.info({ user: 'eve' })
  child.info('bob logs')
  await to.close()
  t.deepEqual((await readAll(folder)).map(({ user }) => user), ['eve', 'bob'])
  for (const [user, count] of [['ada', 0], ['bob', 1], ['eve', 1]]) {
    t.equal((await readAll(folder, { where: { path: 'user', equals: user } })).length, count, user)
  }
})

tape('lines: what is no JSON object becomes the message of one', async (t) => {
  const folder = newFolder()
  const to = destination(folder)
  const hooked = pino({ messageKey: 'text', hooks: { streamWrite: (line) => line.includes('secret') ? 'hidden\n' : line } }, to)
  hooked.warn('secret')
  hooked.warn('open')
  pino({ timestamp: () => '"time":1' }, to).error('its timestamp lacks a comma')
  pino(to).info('good')
  for (const text of ['plain', '7', '[1]', '{"a":', '', '{not json}', '{"a":1}']) to.write(`${text}\n`)
  await to.close()
  const found = await readAll(folder)
  t.deepEqual(found.slice(0, 2).map(({ level, text }) => [level, text]), [[40, 'hidden'], [40, 'open']])
  t.deepEqual([found[2].level, typeof found[2].msg], [50, 'string'])
  t.deepEqual(found.slice(3).map(({ msg }) => msg), ['good', 'plain', '7', '[1]', '{"a":', '{not json}', undefined])
  t.ok(found[4].time > 0)
})

tape('lines: text that is piped in is cut into lines', async (t) => {
  const folder = newFolder()
  const to = destination(folder)
  const bytes = Buffer.from('{"n":1,"text":"ä\u20ac"}\r\n\n{"n":2}\nno end of line')
  Readable.from([...bytes].map((byte) => Buffer.of(byte))).pipe(to)
  await once(to, 'close')
  t.deepEqual((await readAll(folder)).map(({ n, text, msg }) => n ?? msg ?? text), [1, 2, 'no end of line'])
})

tape('levels: come from the metadata, or from the bytes, as numbers and as labels', async (t) => {
  const folder = newFolder()
  const to = destination(folder, { levels: { audit: 55 } })
  pino({ formatters: { level: (label) => ({ severity: label.toUpperCase() }) } }, to).error('a')
  const own = pino({ customLevels: { audit: 55, notice: 35 } }, to)
  own.audit('b')
  own.notice('c')
  to.write('{"level":20,"msg":"d"}\n{"level":"WARN","msg":"e"}\n{"msg":"f"}\n{"level":{},"msg":"g"}\n')
  await to.close()
  const { levels } = to.writer.counters()
  const counted = Object.fromEntries(Object.entries(levels).map(([name, { written }]) => [name, written]))
  t.deepEqual(counted, { trace: 0, debug: 1, info: 2, warn: 1, error: 1, fatal: 0, audit: 1, notice: 1 })
})

tape('levels: every line is in the log when the call returns', async (t) => {
  for (const logIt of [(logger) => logger.trace('a'), (logger) => logger.notice('a'), (logger) => logger.info('a')]) {
    const to = destination(newFolder())
    await to.ready()
    logIt(pino({ level: 'trace', customLevels: { notice: 35 } }, to))
    t.equal(await to.log.count(), 1)
    to.write('{"level":7,"msg":"of an unknown level"}\n')
    t.equal(await to.log.count(), 2)
    await to.close()
  }
})

tape('levels: with batches, errors are in the log when the call returns, and levels of your own are treated as the one below', async (t) => {
  const to = destination(newFolder(), { handleSignals: false })
  await to.ready()
  const logger = pino({ customLevels: { alert: 52, notice: 35 } }, to)
  logger.notice('waits')
  t.equal(await to.log.count(), 0)
  logger.alert('written')
  t.equal(await to.log.count(), 2)
  logger.fatal('synced')
  t.equal(to.log.durable.value, to.log.since.value)
  await to.close()
})

tape('metadata: says what pino said about the last line', async (t) => {
  const to = destination(newFolder())
  const logger = pino(to)
  const child = logger.child({ a: 1 })
  child.warn({ b: 2 }, 'hi')
  t.equal(to.lastLogger, child)
  t.deepEqual([to.lastLevel, to.lastObj, to.lastMsg], [40, { b: 2 }, 'hi'])
  t.ok(Math.abs(Date.now() - Number(to.lastTime)) < 60_000)
  await to.close()
})

tape('flush: calls back when all earlier lines are synced', async (t) => {
  const to = destination(newFolder(), { handleSignals: false })
  const logger = pino(to)
  logger.info('before it is open')
  await promisify(logger.flush).call(logger)
  t.equal(await to.log.count(), 1)
  t.equal(to.log.durable.value, to.log.since.value)
  logger.info('more')
  t.equal(await to.log.count(), 1)
  to.write('{"half":1}')
  await promisify(logger.flush).call(logger)
  t.equal(await to.log.count(), 3, 'also a line without an end')
  await promisify(logger.flush).call(logger)
  logger.flush()
  t.throws(() => to.flush('later'), { code: 'ERR_INVALID_ARGUMENT' })
  to.end()
  await once(to, 'close')
  await promisify(to.flush).call(to)
})

tape('flushSync: all earlier lines are synced when it returns', async (t) => {
  const to = destination(newFolder())
  const logger = pino(to)
  logger.info('early')
  t.equal(to.flushSync(), false, 'the log is not open yet')
  await to.ready()
  for (let n = 0; n < 1000; n++) logger.info({ n })
  t.equal(to.flushSync(), true)
  t.equal(to.log.durable.value, to.log.since.value)
  t.equal(await to.log.count(), 1001)
  await to.close()
  t.equal(typeof to.flushSync(), 'boolean')
})

tape('end: writes what waits, emits finish and close, and can be called early and twice', async (t) => {
  const folder = newFolder()
  const to = destination(folder, { standardError: { write: (bytes) => late.push(String(bytes)) } })
  const late = []
  const events = []
  for (const event of ['ready', 'finish', 'close']) to.on(event, () => events.push(event))
  const logger = pino(to)
  logger.info('in the log')
  to.end()
  to.end()
  t.equal(to.writable, false)
  await once(to, 'close')
  logger.info('too late')
  await new Promise((resolve) => setImmediate(resolve))
  t.deepEqual(events, ['ready', 'finish', 'close'])
  t.deepEqual((await readAll(folder)).map(({ msg }) => msg), ['in the log'])
  t.equal(JSON.parse(late.join('')).msg, 'too late', 'on standard error')
  to.reopen()
})

tape('destroy: loses nothing either', async (t) => {
  const folder = newFolder()
  const to = destination(folder)
  to.on('finish', () => t.fail('finish'))
  pino(to).info('kept')
  to.destroy()
  to.destroy()
  t.ok(to.destroyed)
  await once(to, 'close')
  t.equal((await readAll(folder)).length, 1)
})

tape('reopen: begins a segment', async (t) => {
  const to = destination(newFolder())
  const logger = pino(to)
  logger.info('old')
  to.reopen()
  logger.info('while it reopens')
  await once(to, 'drain')
  logger.info('new')
  await promisify(to.flush).call(to)
  t.equal((await to.log.segments()).length, 2)
  t.equal(await to.log.count(), 3)
  await to.close()
})

tape('reopen: with a folder, later lines go there', async (t) => {
  const [first, second] = [newFolder(), newFolder()]
  const to = destination(first)
  const logger = pino(to)
  logger.info({ n: 1 })
  to.reopen(second)
  logger.info({ n: 2 })
  await once(to, 'drain')
  logger.info({ n: 3 })
  to.end()
  await once(to, 'close')
  t.deepEqual((await readAll(first)).map(({ n }) => n), [1])
  t.deepEqual((await readAll(second)).map(({ n }) => n), [2, 3])
})

tape('drop: what a full queue drops is handed out, and the log says how much it was', async (t) => {
  const folder = newFolder()
  const to = destination(folder, { queue: { count: 10 }, whenFull: 'drop-new' })
  const dropped = []
  to.on('drop', (line) => dropped.push(JSON.parse(line).n))
  const logger = pino(to)
  for (let n = 0; n < 15; n++) logger.info({ n })
  t.deepEqual(dropped, [10, 11, 12, 13, 14])
  t.equal(to.write('{"n":15}\n'), false)
  await once(to, 'drain')
  await to.close()
  t.deepEqual((await readAll(folder)).map(({ n, gap }) => n ?? gap.count), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 6])
})

tape('errors: are events for whoever listens, and never end the process', async (t) => {
  const file = newPath('file')
  fs.writeFileSync(file, 'no folder')
  const aside = []
  const to = destination(file, { standardError: { write: (bytes) => aside.push(JSON.parse(bytes).msg) } })
  const failures = []
  to.on('error', ({ code }) => failures.push(code))
  pino(to).info('kept')
  await promisify(to.flush).call(to)
  t.deepEqual(failures, ['ENOTDIR'])
  t.deepEqual(aside, ['kept'])
  await to.close()
  const unheard = destination(file, { standardError: { write: () => {} } })
  const [warning] = await once(process, 'warning')
  t.match(warning.message, /file/)
  await unheard.close()
})

tape('errors: a log that fails while it is written is opened again', async (t) => {
  const folder = newFolder()
  const to = destination(folder, silent)
  const logger = pino(to)
  logger.info({ n: 1 })
  await promisify(to.flush).call(to)
  const [{ path: file }] = await to.log.segments()
  fs.renameSync(file, `${file}-moved`)
  logger.info({ n: 2 })
  await promisify(to.flush).call(to).catch(() => {})
  logger.info({ n: 3 })
  await promisify(to.flush).call(to)
  t.equal(to.writer.counters().replaced, 1)
  await to.close()
  t.deepEqual((await readAll(folder)).map(({ n }) => n).at(-1), 3)
})

tape('a Log of your own: is not closed', async (t) => {
  const log = OffsetLog(newPath('log'), { codec: lines })
  const to = destination(log)
  pino(to).info('hi')
  to.end()
  await once(to, 'close')
  t.equal(await log.count({ where: { path: 'msg', equals: 'hi' } }), 1)
  await log.close()
})

tape('misuse: arguments are checked', (t) => {
  for (const args of [[], [7], [{}], ['x', null], ['x', { unknown: 1 }], ['x', { levels: { a: 'b' } }]]) {
    t.throws(() => destination(...args), { code: 'ERR_INVALID_ARGUMENT' }, JSON.stringify(args))
  }
  const log = OffsetLog(newPath('log'), { codec: lines })
  t.throws(() => destination(log, { log: {} }), { code: 'ERR_INVALID_ARGUMENT' })
  log.close(() => t.end())
})

tape('throw: what a callback or a listener throws is an uncaught exception, and takes nothing with it', async (t) => {
  const folder = newFolder()
  const to = destination(folder)
  const told = []
  const thrown = await collectThrown(async () => {
    for (const name of ['ready', 'drain', 'finish', 'close']) {
      to.on(name, () => {
        told.push(name)
        throw new Error(name)
      })
    }
    pino(to).info('hello')
    to.flush(() => { throw new Error('flush') })
    to.flush(() => told.push('flushed'))
    await until(() => told.includes('flushed') && told.includes('ready'))
    to.reopen()
    await until(() => told.includes('drain'))
    to.end()
    await until(() => told.includes('close'))
  })
  t.deepEqual(told.sort(), ['close', 'drain', 'finish', 'flushed', 'ready', 'ready'])
  t.deepEqual(thrown.exceptions.sort(), ['close', 'drain', 'finish', 'flush', 'ready', 'ready'])
  t.deepEqual(thrown.rejections, [])
  t.deepEqual((await readAll(folder)).map(({ msg }) => msg), ['hello'])
})
