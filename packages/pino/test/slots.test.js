'use strict'
// Several processes write one folder, and a destination on a log of any kind: both heal as one on a folder does.

const fs = require('node:fs')
const path = require('node:path')
const pino = require('pino')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { lines } = require('@millrace/log-writer')
const { MergedLog, SlotLog } = require('@millrace/merged-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { destination, preset } = require('..')
const { newFolder, upTo } = require('./helper')

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const segmentsOf = (folder) => fs.readdirSync(folder).filter((name) => name.endsWith('.log')).sort()

/** By the kind of target: how it is opened, and where its segments are. */
const TARGETS = {
  'a folder': { open: (folder) => [folder], at: '.' },
  'a folder with slots': { open: (folder) => [folder, { slots: true }], at: '0' },
  'a SlotLog': { open: (folder) => [SlotLog(folder, { codec: lines })], at: '0' },
  'a SegmentedLog': { open: (folder) => [SegmentedLog(folder, { codec: lines })], at: '.' }
}

for (const [what, { open, at }] of Object.entries(TARGETS)) {
  tape(`destination on ${what}: goes on after a segment was moved away`, { timeout: 60_000 }, async (t) => {
    const folder = newFolder()
    const [target, options] = open(folder)
    let asideCount = 0
    const to = destination(target, { ...options, standardError: { write: () => { asideCount++ } }, onReport: () => {} })
    await to.ready()
    const logger = pino(to)
    logger.info('before')
    await to.writer.flush()
    const [segment] = segmentsOf(path.join(folder, at))
    fs.renameSync(path.join(folder, at, segment), path.join(folder, at, `${segment}.away`))
    for (let n = 0; to.writer.counters().replaced === 0; n++) {
      logger.info({ n })
      await sleep(20)
    }
    await to.ready()
    logger.info('after')
    await to.writer.flush()
    t.equal(to.writer.counters().replaced, 1)
    t.equal(asideCount, 0, 'no line on standard error')
    const stored = fs.readdirSync(folder, { recursive: true }).map((name) => path.join(folder, name))
      .filter((file) => file.endsWith('.log')).map((file) => String(fs.readFileSync(file))).join('')
    t.ok(stored.includes('"msg":"after"'))
    await to.close()
    // It says again why it was given up.
    if (typeof target !== 'string') await target.close().catch(({ code }) => t.equal(code, 'ERR_LOG_POISONED'))
  })

  tape(`destination on ${what}: reopen begins a segment`, async (t) => {
    const folder = newFolder()
    const [target, options] = open(folder)
    const to = destination(target, options)
    await to.ready()
    pino(to).info('one')
    const isDone = new Promise((resolve) => to.once('drain', resolve))
    to.reopen()
    await isDone
    pino(to).info('two')
    await to.writer.flush()
    t.equal(segmentsOf(path.join(folder, at)).length, 2)
    await to.close()
    if (typeof target !== 'string') await target.close()
  })
}

tape('slots: several write one folder, within a limit of size', async (t) => {
  const folder = newFolder()
  const options = { slots: 2, log: { maxSize: 2 ** 21, segmentSize: 2 ** 17 } }
  const writers = [destination(folder, options), destination(folder, options)]
  for (const to of writers) await to.ready()
  for (const n of upTo(6000)) {
    for (const to of writers) pino(to).info({ n, text: 'x'.repeat(500) })
    if (n % 100 === 0) await sleep(1)
  }
  for (const to of writers) await to.writer.flush()
  t.deepEqual(writers.map((to) => to.log.slot).sort(), [0, 1])
  for (const to of writers) await to.close()
  // Nothing is dropped while it counts.
  const log = MergedLog(folder, { codec: jsonCodec })
  t.ok(await log.count() < 12_000, 'the oldest ones are gone')
  await log.close()
})

tape('slots: what cannot be is refused', async (t) => {
  const misuse = { code: 'ERR_INVALID_ARGUMENT' }
  for (const slots of [0, 1.5, -1, 'two', null]) t.throws(() => destination(newFolder(), { slots }), misuse)
  t.throws(() => destination(newFolder(), { slots: 64, log: { maxSize: 2 ** 20 } }), misuse, 'a limit that is too small')
  const log = SegmentedLog(newFolder(), { codec: lines })
  t.throws(() => destination(log, { slots: true }), misuse, 'a Log with slots')
  for (const target of [null, undefined, 7, {}, { dest: 'app.log' }]) {
    t.throws(() => destination(target), /^TypeError.*destination: expected a folder or a Log, got/)
  }
  await log.close()
  const [, to] = preset('development', newFolder(), { slots: true, tee: { write () {} } })
  await to.ready()
  t.equal(to.log.slot, 0, 'a preset takes slots')
  await to.close()
})

for (const options of [{}, { slots: 2 }]) {
  const title = `destination: the option mode of the log is that of all files in the folder${options.slots ? ', with slots' : ''}`
  tape(title, { skip: process.platform === 'win32' }, async (t) => {
    const folder = newFolder()
    const to = destination(folder, { ...options, log: { mode: '0640' } })
    pino(to).info('hello')
    await to.ready()
    await to.writer.flush()
    const all = fs.readdirSync(folder, { recursive: true })
    const names = all.filter((name) => fs.statSync(path.join(folder, name)).isFile())
    t.ok(names.length >= 3, names.join())
    for (const name of names) t.equal((fs.statSync(path.join(folder, name)).mode & 0o777).toString(8), '640', name)
    await to.close()
    t.throws(() => destination(newFolder(), { ...options, log: { mode: 640 } }), { code: 'ERR_INVALID_ARGUMENT' })
  })
}

tape('destination: a folder of one process is not given slots, nor a folder of slots segments', { timeout: 60_000 }, async (t) => {
  for (const [first, second, pattern] of [[undefined, { slots: 4 }, /mkdir .*0 && mv /], [{ slots: 4 }, undefined, /the option `slots`/]]) {
    const folder = newFolder()
    const before = destination(folder, first)
    await before.ready()
    pino(before).info('before')
    await before.close()
    const reports = []
    const aside = []
    const to = destination(folder, { ...second, standardError: { write: (line) => aside.push(line) } })
    to.on('error', (err) => reports.push(err))
    pino(to).info('after')
    await to.ready().catch(() => {})
    await to.writer.flush().catch(() => {})
    const [err] = reports
    t.equal(reports.find(({ code }) => code === 'ERR_LOG_UNKNOWN_FORMAT'), err, String(err))
    t.match(String(err?.message), pattern)
    t.ok(aside.join('').includes('"msg":"after"'), 'the line is on standard error')
    await to.close()
  }
})
