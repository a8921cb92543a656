'use strict'
// What a writer does when its log fails: keeps the batch, takes another log, or standard error. It never throws.

const path = require('node:path')
const tape = require('tape')
const { OffsetLog } = require('@millrace/offset-log')
const { SimulatedDisk, collect, newPath, temporaryFolder, until } = require('@millrace/testkit')
const { LogWriter, lines } = require('..')
const { MemoryLog, checkCounts, collector, failure } = require('./memory-log')

const opened = () => new Promise((resolve) => setImmediate(resolve))

async function readAll (log) {
  return (await collect(log.stream({ seqs: false }))).map(({ n, gap }) => gap ? { [gap.reason]: gap.count } : n)
}

tape('a failed write keeps its batch and is tried again', async (t) => {
  const log = new MemoryLog()
  const reports = []
  const writer = LogWriter(log, { onReport: ({ code }) => reports.push(code), batch: { count: 2 } })
  await opened()
  log.failures = [failure('ENOSPC'), failure('ENOSPC')]
  for (const text of ['a', 'b', 'c']) writer.write(text)
  for (let attempt = 0; attempt < 2; attempt++) {
    t.equal(await writer.flush().catch(({ code }) => code), 'ENOSPC')
    t.deepEqual(log.records, [])
    t.equal(writer.counters().total.queued, 3)
  }
  await writer.flush()
  t.deepEqual(log.records, ['a', 'b', 'c'])
  t.ok(reports.every((code) => code === 'ENOSPC') && reports.length > 0)
  checkCounts(t, writer)
  await writer.close()
})

for (const hasAppendSync of [true, false]) {
  tape(`an eager record is not written in front of a batch that has just failed; appendSync: ${hasAppendSync}`, async (t) => {
    const log = new MemoryLog({ hasAppendSync })
    const writer = LogWriter(log, { onReport: () => {} })
    await opened()
    log.failures = [failure('ENOSPC')]
    // The second one is written before the failure of the first one is called back.
    for (const text of ['a', 'b']) writer.write(text, 'error')
    writer.write('c')
    t.deepEqual(log.records, [], 'nothing overtakes it')
    t.equal(writer.counters().total.written, 0)
    t.equal(writer.flushSync(), false)
    await opened()
    log.isSlow = true
    log.failures = [null, failure('ENOSPC')]
    const flushed = writer.flush()
    writer.write('d', 'error')
    writer.write('e', 'error')
    log.isSlow = false
    log.answer()
    await flushed
    await writer.flush()
    t.deepEqual(log.records, ['a', 'b', 'c', 'd', 'e'])
    checkCounts(t, writer)
    await writer.close()
  })
}

tape('a failed write is tried again by itself', async (t) => {
  const log = new MemoryLog()
  const writer = LogWriter(log, { onReport: () => {}, batch: { count: 1 } })
  await opened()
  log.failures = [failure('ENOSPC')]
  writer.write('a')
  await until(() => log.records.length > 0)
  t.deepEqual(log.records, ['a'])
  await writer.close()
})

tape('a full disk: what does not fit is dropped as the policy says, and the log says so', async (t) => {
  for (const whenFull of ['write-through', 'wait', 'drop-new', 'drop-old']) {
    const disk = new SimulatedDisk({ defer: process.nextTick })
    const log = OffsetLog('/log', { codec: lines, storage: disk.storage })
    const standardError = collector()
    const writer = LogWriter(log, { whenFull, queue: { count: 50 }, standardError, onReport: () => {} })
    writer.write({ n: 0 })
    await writer.flush()
    disk.capacity = disk.read('/log').length
    for (let n = 1; n <= 300; n++) {
      writer.write({ n }, n % 100 === 0 ? 'fatal' : 'info')
      if (n % 10 === 0) await opened()
      checkCounts(t, writer)
    }
    const { dropped } = writer.counters().total
    t.ok(dropped >= 200, `${whenFull}: ${dropped} dropped`)
    disk.capacity = Infinity
    await writer.flush()
    const found = await readAll(log)
    const gaps = found.filter((one) => typeof one === 'object').flatMap((one) => Object.values(one))
    t.equal(gaps.reduce((sum, count) => sum + count, 0), dropped, 'the gap records and the counters agree')
    t.equal(found.length - gaps.length + dropped + standardError.lines.length, 301, 'all accounted for')
    for (const n of [100, 200, 300]) t.ok(found.includes(n) || standardError.lines.some((text) => JSON.parse(text).n === n), `${n} is protected`)
    checkCounts(t, writer)
    await writer.close()
    await log.close()
  }
})

tape('a log that cannot be used is replaced: locked, poisoned, closed, damaged', async (t) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'log')
  const holder = OffsetLog(file, { codec: lines })
  await holder.ready()
  const locked = LogWriter(OffsetLog(file, { codec: lines }), {
    onReport: () => {},
    replace: ({ code }, attempt) => {
      t.equal(code, 'ERR_LOG_LOCKED')
      return attempt < 3 ? OffsetLog(file, { codec: lines }) : Promise.resolve(OffsetLog(`${file}.${attempt}`, { codec: lines }))
    }
  })
  locked.write({ n: 1 })
  locked.write({ n: 2 }, 'error')
  await locked.flush()
  t.deepEqual(await readAll(locked.log), [1, 2])
  t.equal(locked.log.filename, `${file}.3`)
  t.equal(locked.counters().replaced, 3)
  await locked.close()
  await holder.close()

  let isFailing = false
  const disk = new SimulatedDisk({ decide: ({ name }) => isFailing && name === 'sync' ? { losesPages: true } : undefined })
  const next = () => OffsetLog(`${file}.next`, { codec: lines })
  const poisoned = LogWriter(OffsetLog('/log', { codec: lines, storage: disk.storage }), { onReport: () => {}, replace: next })
  poisoned.write({ n: 0 })
  await poisoned.flush()
  isFailing = true
  t.doesNotThrow(() => poisoned.write({ n: 1 }, 'fatal'))
  await opened()
  poisoned.write({ n: 2 })
  t.equal(await poisoned.flush().catch(({ code }) => code), 'ERR_LOG_POISONED', 'record 1 was written, and not synced')
  await poisoned.flush()
  t.deepEqual((await readAll(poisoned.log)).slice(-1), [2])
  await poisoned.close()

  const early = OffsetLog(`${file}.closed`, { codec: lines })
  const closed = LogWriter(early, { onReport: () => {}, replace: () => OffsetLog(`${file}.open`, { codec: lines }) })
  await early.close()
  closed.write({ n: 1 })
  await closed.flush()
  t.deepEqual(await readAll(closed.log), [1])
  checkCounts(t, closed)
  await closed.close()
})

tape('without another log, records go to standard error, counted', async (t) => {
  const endings = {
    none: undefined,
    null: () => null,
    throws: () => { throw new Error('planned') },
    'five that fail': () => new MemoryLog({ readyError: failure('EACCES') })
  }
  for (const [what, replace] of Object.entries(endings)) {
    const standardError = collector()
    const log = new MemoryLog({ readyError: failure('EACCES') })
    const writer = LogWriter(log, { standardError, replace, onReport: () => { throw new Error('planned') } })
    writer.write('a')
    writer.write('b', 'error')
    await writer.flush()
    writer.write('c')
    t.deepEqual(standardError.lines, ['a', 'b', 'c'], what)
    const { total, diverted } = writer.counters()
    t.deepEqual([total.written, diverted], [3, 3])
    checkCounts(t, writer)
    await writer.close()
    writer.write('late')
    t.equal(standardError.lines.at(-1), 'late', 'after close')
  }
})

tape('standard error that fails does no harm', async (t) => {
  const writer = LogWriter(new MemoryLog({ readyError: failure('EACCES') }), {
    onReport: () => {},
    standardError: { write: () => { throw failure('EPIPE') } }
  })
  writer.write('a')
  await writer.flush()
  t.doesNotThrow(() => writer.write('b'))
  await writer.close()
})

tape('a record that the log refuses is dropped, the others are written', async (t) => {
  const log = OffsetLog(newPath('log'), { codec: lines, maxRecordSize: 1000 })
  const codes = []
  const writer = LogWriter(log, { onReport: ({ code }) => codes.push(code) })
  await log.ready()
  for (let n = 0; n < 10; n++) writer.write(n === 4 || n === 7 ? { n, text: 'x'.repeat(2000) } : { n }, n === 7 ? 'error' : 'info')
  await writer.flush()
  const found = await readAll(log)
  t.deepEqual(found.filter((one) => typeof one === 'number'), [0, 1, 2, 3, 5, 6, 8, 9])
  t.equal(found.reduce((sum, one) => sum + (one.refused ?? 0), 0), 2)
  t.deepEqual([...new Set(codes)], ['ERR_RECORD_TOO_LARGE'])
  checkCounts(t, writer)
  t.equal(writer.counters().total.dropped, 2)
  await writer.close()
  await log.close()
})

/** Gives up each of the files in turn, before it is synced, and then writes `last`. */
async function giveUpUnsynced (files, last) {
  let failing = null
  const disk = new SimulatedDisk({ decide: ({ name, path }) => name === 'sync' && path === failing ? { losesPages: true } : undefined })
  const openLog = (file) => OffsetLog(file, { codec: lines, storage: disk.storage })
  const next = [...files.slice(1), last]
  const replace = () => {
    failing = null
    return openLog(next.shift())
  }
  const writer = LogWriter(openLog(files[0]), { onReport: () => {}, replace })
  writer.write({ n: 0 })
  await writer.flush()
  for (const [index, file] of files.entries()) {
    failing = file
    writer.write({ n: index + 1 }, 'fatal')
    writer.write({ n: index + 10 })
    await until(() => writer.counters().replaced > index)
    await writer.flush({ sync: false })
  }
  return writer
}

tape('of two logs that were given up before they were synced, the one whose file is not opened again is told of', async (t) => {
  const writer = await giveUpUnsynced(['/a', '/b'], '/b')
  const err = await writer.flush().catch((err) => err)
  t.deepEqual([err?.code, err?.path], ['ERR_LOG_POISONED', '/a'], 'a power cut may take the last records of it')
  await writer.flush()
  await writer.close()
  await writer.log.close()
})

tape('of two logs that were given up before they were synced, neither is opened again: both are told of', async (t) => {
  const writer = await giveUpUnsynced(['/a', '/b'], '/c')
  const err = await writer.flush().catch((err) => err)
  t.deepEqual([err?.code, err?.path], ['ERR_LOG_POISONED', '/a'])
  for (const file of ['/a', '/b']) t.ok(err?.message.includes(`${file} was given up`), `${file} in the message`)
  t.deepEqual(err?.cause?.errors?.map(({ code, path }) => [code, path]), [['ERR_LOG_POISONED', '/a'], ['ERR_LOG_POISONED', '/b']])
  await writer.flush()
  await writer.close()
  await writer.log.close()
})
