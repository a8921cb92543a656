'use strict'
// The folder stays within `maxSize` at every moment, however a program appends and however often it yields. What does
// not fit without waiting is refused with a code, so nothing is lost silently.

const { fork } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const { setImmediate: nextTurn } = require('node:timers/promises')
const { Worker } = require('node:worker_threads')
const tape = require('tape')
const { SEGMENT_NAME, fileStorage } = require('@millrace/block-file')
const { SimulatedDisk, createRandom, failureOf, newPath, slowStorage } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const CHILD = path.join(__dirname, 'quota-child.js')
const MIB = 2 ** 20
const RECORD_SIZE = 2000

/** Each record begins with its number. */
function record (i) {
  const buf = Buffer.alloc(RECORD_SIZE, 'r')
  buf.writeUInt32BE(i)
  return buf
}

/** Compression may still make room for itself, and drop what is being read. */
async function collectNumbers (log) {
  for (;;) {
    const numbers = []
    try {
      for await (const value of log.stream({ seqs: false })) numbers.push(value.n ?? value.readUInt32BE())
      return numbers
    } catch (err) {
      if (err.code !== 'ERR_LOG_SEQ_RETAINED') throw err
    }
  }
}

/** How programs append, each with the numbers of the records that the log took. */
const programs = {
  'appendSync that never yields': async (log, append) => {
    for (let i = 0; i < 3000; i++) append.now(i)
  },
  'appendSync that yields rarely': async (log, append) => {
    for (let i = 0; i < 3000; i++) {
      append.now(i)
      if (i % 250 === 0) await nextTurn()
    }
  },
  'appendSync that yields often': async (log, append) => {
    for (let i = 0; i < 3000; i++) {
      append.now(i)
      if (i % 5 === 0) await nextTurn()
    }
  },
  'appendSync, and append if that is refused, as a logger does': async (log, append) => {
    for (let i = 0; i < 3000; i++) {
      if (!append.now(i)) await append.later(i)
      if (i % 100 === 0) await nextTurn()
    }
  },
  'appends that nobody awaits': async (log, append) => {
    const appends = []
    for (let i = 0; i < 3000; i++) {
      appends.push(append.later(i))
      if (i % 100 === 0) await nextTurn()
    }
    await Promise.all(appends)
  },
  'batches, and a flush after each': async (log, append) => {
    const appends = []
    for (let i = 0; i < 3000; i += 20) {
      appends.push(append.batch(i, 20))
      await failureOf(() => log.flushSync())
      if (i % 300 === 0) await nextTurn()
    }
    await Promise.all(appends)
  },
  'batches of many small records': async (log, append) => {
    for (let i = 0; i < 40; i++) await log.append(Array.from({ length: 4000 }, () => Buffer.from('small')))
    for (let i = 0; i < 100; i++) await append.later(i)
  }
}

/** Appends, and notes what was taken. */
function createAppend (log, taken, codes) {
  const refused = (err) => {
    codes.add(err.code)
    return false
  }
  const noteAll = (first, count) => {
    for (let i = first; i < first + count; i++) taken.push(i)
    return true
  }
  return {
    now: (i) => {
      try {
        log.appendSync([record(i)])
      } catch (err) {
        return refused(err)
      }
      return noteAll(i, 1)
    },
    later: (i) => log.append(record(i)).then(() => noteAll(i, 1), refused),
    batch: (first, count) => {
      const records = Array.from({ length: count }, (_, i) => record(first + i))
      return log.append(records).then(() => noteAll(first, count), refused)
    }
  }
}

async function run (t, name, storage, folder, watch, options = {}) {
  for (const maxSize of [MIB, 2 * MIB]) {
    const log = SegmentedLog(`${folder}-${maxSize}`, { storage, maxSize, ...options })
    await log.ready()
    const stop = watch(log.filename)
    const taken = []
    const codes = new Set()
    await programs[name](log, createAppend(log, taken, codes))
    if (mayRefuse(options)) codes.delete('ERR_LOG_NOT_READY')
    t.deepEqual([...codes], [], mayRefuse(options) ? 'what was refused says that it can be tried again' : 'nothing is refused')
    await log.append(record(9999))
    taken.push(9999)
    const most = stop()
    t.ok(most <= maxSize, `${name}: ${most} bytes at most of ${maxSize}`)
    const isOld = (number) => number % 10 === 7 && options.keep !== undefined
    const kept = (await collectNumbers(log)).filter((number) => number < 10_000 && !isOld(number))
    const wanted = taken.filter((number) => !isOld(number)).sort((a, b) => a - b)
    t.deepEqual(kept, wanted.slice(-kept.length), `the newest ${kept.length} of ${taken.length} are kept`)
    t.ok(kept.length > 0)
    await log.close()
  }
}

/** Chosen records cannot be copied without waiting. */
const mayRefuse = ({ keep }) => keep !== undefined
const codec = {
  name: 'numbered',
  buffer: true,
  encode: (bytes) => bytes,
  decode: (bytes) => ({ n: bytes.readUInt32BE(), last: String(bytes.readUInt32BE() % 10) })
}
const keep = { where: { path: ['last'], equals: '7' } }
const cases = [
  ...Object.keys(programs).map((name) => [name, '', {}]),
  ['appendSync that yields rarely', ', compressed', { compress: 'gzip' }],
  ['appendSync that yields often', ', compressed', { compress: 'gzip' }],
  ['appendSync that yields rarely', ', with chosen records', { codec, keep }],
  ['appendSync, and append if that is refused, as a logger does', ', with chosen records', { codec, keep }]
]

for (const [name, how, options] of cases) {
  tape(`quota: ${name}${how}, watched at each change of the disk`, async (t) => {
    const disk = new SimulatedDisk()
    await run(t, name, disk.storage, '/logs', (folder) => {
      let most = 0
      disk.onChange = () => {
        const files = disk.list().filter((file) => path.dirname(file) === folder)
        most = Math.max(most, files.reduce((sum, file) => sum + disk.size(file), 0))
      }
      return () => {
        disk.onChange = null
        return most
      }
    }, options)
  })
}

/** @param {string} folder */
function sizeOf (folder) {
  return fs.readdirSync(folder).reduce((sum, name) => {
    return sum + (fs.statSync(path.join(folder, name), { throwIfNoEntry: false })?.size ?? 0)
  }, 0)
}

const slow = slowStorage(fileStorage, createRandom(7), { isBlocking: false })
for (const [disk, storage] of [['a', fileStorage], ['a slow', slow]]) {
  tape(`2-quota-exceeded: a program that yields every few hundred records, on ${disk} real disk`, async (t) => {
    const maxSize = 2 * MIB
    const log = SegmentedLog(newPath('logs'), { maxSize, storage })
    await log.ready()
    let most = 0
    const codes = new Set()
    for (let i = 0; i < 2500; i++) {
      const err = await failureOf(() => log.appendSync([record(i)]))
      if (err !== null) {
        codes.add(err.code)
        await log.append(record(i))
      }
      most = Math.max(most, sizeOf(log.filename))
      if (i % 300 === 0) await nextTurn()
    }
    t.ok(most <= maxSize, `${most} bytes at most`)
    codes.delete('ERR_LOG_NOT_READY')
    t.deepEqual([...codes], [])
    const kept = await collectNumbers(log)
    t.equal(kept.at(-1), 2499)
    t.equal(kept.at(-1) - kept[0], kept.length - 1, `the newest ${kept.length} are there`)
    await log.close()
  })
}

tape('quota: a writer in a worker thread, watched from outside', async (t) => {
  const folder = newPath('logs')
  const worker = new Worker(CHILD, { workerData: { folder, maxSize: MIB, count: 3000, size: RECORD_SIZE } })
  let most = 0
  let isRunning = true
  worker.once('exit', () => { isRunning = false })
  const answer = once(worker, 'message')
  const look = () => {
    if (fs.existsSync(folder)) most = Math.max(most, sizeOf(folder))
    if (isRunning) setImmediate(look)
  }
  look()
  const [{ codes }] = await answer
  t.deepEqual(codes, [], 'nothing is refused')
  t.ok(most <= MIB && most > MIB / 4, `${most} bytes at most`)
  const log = SegmentedLog(folder)
  const kept = await collectNumbers(log)
  t.equal(kept.at(-1), 2999)
  t.equal(kept.at(-1) - kept[0], kept.length - 1, `the newest ${kept.length} are there`)
  await log.close()
})

tape('quota: another process follows, and sees neither too much nor what is no segment', async (t) => {
  const folder = newPath('logs')
  const log = SegmentedLog(folder, { maxSize: MIB, compress: 'gzip' })
  await log.append(record(0))
  const child = fork(CHILD, [folder, '2500'])
  const ended = once(child, 'exit')
  await once(child, 'message')
  let answer = null
  child.on('message', (message) => { answer = message })
  let most = 0
  for (let i = 1; i <= 2500; i++) {
    log.appendSync(record(i), { sync: false })
    most = Math.max(most, sizeOf(folder))
    if (i % 50 === 0) await nextTurn()
  }
  const [code] = await ended
  t.equal(code, 0)
  t.ok(most <= MIB, `${most} bytes at most`)
  t.ok(answer.names.length > 0 && answer.names.every((name) => SEGMENT_NAME.test(path.basename(name))))
  await log.close()
  const left = fs.readdirSync(folder).filter((name) => !SEGMENT_NAME.test(name))
  t.deepEqual(left, ['writer'], 'nothing else is left')
})

tape('quota: segments stay small, and much of the quota stays in use, however long the program does not yield', async (t) => {
  const disk = new SimulatedDisk()
  const log = SegmentedLog('/logs', { storage: disk.storage, maxSize: 4 * MIB, segmentSize: MIB / 4 })
  await log.ready()
  for (let i = 0; i < 6000; i++) log.appendSync(record(i))
  const sizes = disk.list().filter((file) => file.endsWith('.log')).map((file) => disk.size(file))
  t.ok(Math.max(...sizes) <= MIB, `${sizes}`)
  t.ok(sizes.reduce((sum, size) => sum + size) > 2 * MIB)
  await log.close()
})
