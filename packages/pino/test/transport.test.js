'use strict'
// The target of pino.transport, in the worker thread of thread-stream.

const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const { promisify } = require('node:util')
const pino = require('pino')
const tape = require('tape')
const { newFolder, readAll, run, upTo } = require('./helper')

const target = require.resolve('../transport')

/** For programs of their own. */
const OPEN = `
  const transport = pino.transport({ target: ${JSON.stringify(target)}, options: { folder } })
  const logger = pino(transport)
`

tape('transport: the lines of a logger are in the log, in order; flush waits until they are', async (t) => {
  const folder = newFolder()
  const transport = pino.transport({ target, options: { folder, log: { segmentSize: 20_000 }, queue: { count: 100 } } })
  const logger = pino({ customLevels: { audit: 55 } }, transport)
  for (let n = 0; n < 3000; n++) logger.info({ n, text: 'ü'.repeat(n % 50) })
  logger.audit({ n: 3000 })
  await promisify(logger.flush.bind(logger))()
  t.deepEqual((await readAll(folder)).map(({ n }) => n), upTo(3001))
  t.equal((await readAll(folder, { where: { path: 'level', equals: 55 } })).length, 1)
  logger.info({ n: 3001 })
  transport.ref()
  transport.end()
  await once(transport, 'close')
  t.equal((await readAll(folder)).length, 3002)
})

tape('transport: the lines before process.exit and before a throw are in the log', async (t) => {
  for (const [end, status] of [['process.exit(3)', 3], ['throw new Error("planned")', 1], ['', 0]]) {
    const folder = newFolder()
    const ended = run(`${OPEN} for (let n = 0; n < 2000; n++) logger.info({ n }); ${end}`, folder)
    t.equal(ended.status, status, end)
    t.deepEqual((await readAll(folder)).map(({ n }) => n), upTo(2000))
  }
})

tape('transport: what is logged in an exit handler is lost with it, and not with the destination in process', async (t) => {
  const late = "process.on('exit', () => { try { logger.info('late') } catch {} })"
  const folder = newFolder()
  run(`${OPEN} logger.info('first'); transport.on('ready', () => { ${late}; process.exit() })`, folder)
  t.deepEqual((await readAll(folder)).map(({ msg }) => msg), ['first'], 'the advice in the README is still needed')
  const inProcess = newFolder()
  run(`const to = destination(folder); const logger = pino(to)
    logger.info('first'); to.on('ready', () => { ${late}; process.exit() })`, inProcess)
  t.deepEqual((await readAll(inProcess)).map(({ msg }) => msg), ['first', 'late'])
})

tape('transport: an error and then SIGKILL lose the line, and not with the destination in process', async (t) => {
  const end = "logger.error('why'); process.kill(process.pid, 'SIGKILL')"
  // On a busy machine the worker may be quicker, now and then.
  let found = null
  for (let attempt = 0; attempt < 20 && found?.length !== 0; attempt++) {
    const folder = newFolder()
    run(`${OPEN} transport.on('ready', () => { ${end} }); transport.ref()`, folder)
    found = (await readAll(folder)).map(({ msg }) => msg)
  }
  t.deepEqual(found, [])
  const inProcess = newFolder()
  run(`const to = destination(folder); const logger = pino(to); to.on('ready', () => { ${end} })`, inProcess)
  t.deepEqual((await readAll(inProcess)).map(({ msg }) => msg), ['why'])
})

tape('transport: failures are reported, and do not destroy the logger', (t) => {
  const folder = newFolder()
  fs.mkdirSync(path.dirname(folder), { recursive: true })
  fs.writeFileSync(folder, 'a file')
  const { stdout, stderr, status } = run(`${OPEN}
    transport.on('error', (err) => console.log('destroyed', err.message))
    logger.info('kept')
    logger.flush((err) => { console.log('flushed', err); logger.info('alive'); setImmediate(() => transport.end()) })
    transport.ref()`, folder)
  t.equal(status, 0)
  t.equal(stdout.trim(), 'flushed undefined')
  t.match(stderr, /LogWriterWarning|ENOTDIR/)
  t.match(stderr, /"msg":"kept"/, 'on standard error')
  t.match(stderr, /"msg":"alive"/)
  t.end()
})

tape('transport: misuse ends it with an error that says what is wrong', async (t) => {
  const transport = pino.transport({ target, options: {} })
  transport.ref()
  const [err] = await once(transport, 'error')
  t.match(err.message, /expected the option folder/)
})
