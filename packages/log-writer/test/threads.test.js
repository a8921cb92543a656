'use strict'

const { spawnSync } = require('node:child_process')
const { once } = require('node:events')
const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')
const { Worker } = require('node:worker_threads')
const tape = require('tape')
const { OffsetLog } = require('@millrace/offset-log')
const { collect, newPath, until } = require('@millrace/testkit')
const { LogWriter, lines } = require('..')
const { DIVERTED, OWNER_THREAD, PUSHED, Ring } = require('../lib/ring')
const { shareWriter, ThreadWriter } = require('../threads')

const CHILD = path.join(__dirname, 'thread-child.js')
const ROUND_COUNT = Number(process.env.MILLRACE_ROUNDS ?? 15)

function open (options, shareOptions) {
  const log = OffsetLog(newPath('a.log'), { codec: lines })
  const writer = LogWriter(log, options)
  const share = shareWriter(writer, shareOptions)
  const close = async () => {
    share.close()
    await writer.close()
    await log.close()
  }
  return { log, writer, share, close }
}

function start (share, data) {
  const channel = share.connect()
  return new Worker(CHILD, { workerData: { channel, ...data }, transferList: [channel.port] })
}

/** What the thread counted. */
async function endOf (worker) {
  const [[counters]] = await Promise.all([once(worker, 'message'), once(worker, 'exit')])
  return counters
}

async function valuesOf ({ log, writer }) {
  await writer.flush()
  return collect(log.stream({ seqs: false }))
}

/** How many records of each thread there are; fails if one is missing, doubled or split. */
function countsOf (t, values) {
  const counts = {}
  let wrongCount = 0
  for (const { name, n, text } of values) {
    if (n !== (counts[name] ?? 0) || text !== String.fromCharCode(97 + n % 26).repeat(text.length)) wrongCount++
    counts[name] = n + 1
  }
  t.equal(wrongCount, 0, 'each record once, whole, in the order of its thread')
  return counts
}

tape('threads: with handleSignals, a signal takes no record of a thread', { skip: process.platform === 'win32' }, async (t) => {
  const program = `
    const { LogWriter, lines } = require(${JSON.stringify(require.resolve('..'))})
    const { shareWriter } = require(${JSON.stringify(require.resolve('../threads'))})
    const { OffsetLog } = require('@millrace/offset-log')
    const log = OffsetLog(process.argv[1], { codec: lines })
    log.ready(() => {
      const channel = shareWriter(LogWriter(log, { handleSignals: true })).connect()
      const progress = new SharedArrayBuffer(4)
      const data = { channel, name: 'a', count: Infinity, progress }
      new (require('node:worker_threads').Worker)(${JSON.stringify(CHILD)}, { workerData: data, transferList: [channel.port] })
      setInterval(() => {
        const count = Atomics.load(new Int32Array(progress), 0)
        if (count < 200) return
        require('node:fs').writeSync(1, String(count))
        process.kill(process.pid, 'SIGTERM')
      }, 1)
    })
  `
  const file = newPath('a.log')
  const { stdout, signal } = spawnSync(process.execPath, ['-e', program, file], { cwd: __dirname, encoding: 'utf8' })
  t.equal(signal, 'SIGTERM')
  const log = OffsetLog(file, { flags: 'r', codec: lines })
  const count = await log.count()
  t.ok(count >= Number(stdout) && Number(stdout) >= 200, `${count} of ${stdout} are in the log`)
  await log.close()
})

tape('threads: records of several threads are in the log, each once, in order, of all sizes', async (t) => {
  const opened = open({}, { size: 64 * 1024 })
  const sizes = [0, 1, 7, 8, 9, 300, 5000, 16_000, 20_000, 70_000, 200_000]
  const workers = [1, 2, 3, 4].map((n) => {
    return start(opened.share, { name: `t${n}`, count: n * 500, sizes: n % 2 ? [3, 90] : sizes })
  })
  const counters = await Promise.all(workers.map(endOf))
  t.deepEqual(counters.map(({ submitted }) => submitted), [500, 1000, 1500, 2000])
  await until(() => opened.share.counters().taken === 5000)
  t.deepEqual(opened.share.counters(), { submitted: 5000, taken: 5000, queued: 0, dropped: 0, diverted: 0 })
  t.deepEqual(countsOf(t, await valuesOf(opened)), { t1: 500, t2: 1000, t3: 1500, t4: 2000 })
  await opened.close()
})

tape(`threads: terminate() at any time loses, doubles and splits no record (${ROUND_COUNT} threads)`, async (t) => {
  const opened = open({}, { size: 16 * 1024 })
  const submitted = {}
  for (let round = 0; round < ROUND_COUNT; round++) {
    const name = `t${round}`
    const progress = new SharedArrayBuffer(4)
    const pauseEvery = round % 2 ? 50 : 1e9
    const worker = start(opened.share, { name, count: 1e9, sizes: [30, 300, 6000], progress, pauseEvery })
    await once(worker, 'online')
    await sleep(10 + Math.random() * 60)
    await worker.terminate()
    submitted[name] = Atomics.load(new Int32Array(progress), 0)
  }
  await until(() => opened.share.counters().queued === 0)
  const counts = countsOf(t, await valuesOf(opened))
  // The thread may have been terminated between the end of write and the note of it.
  const wrong = Object.keys(submitted).filter((name) => ![0, 1].includes((counts[name] ?? 0) - submitted[name]))
  t.deepEqual(wrong.map((name) => [name, submitted[name], counts[name]]), [])
  const { taken, queued, submitted: total } = opened.share.counters()
  t.equal(taken, Object.values(counts).reduce((sum, count) => sum + count, 0), `${taken} records`)
  t.deepEqual([total - taken, queued], [0, 0])
  await opened.close()
})

tape('threads: a ring that is full makes its thread wait, or drops and says so in the log', async (t) => {
  const opened = open({}, { size: 4096 })
  const channel = opened.share.connect()
  const options = { whenFull: 'drop-new' }
  const data = { channel, name: 'drops', count: 1000, sizes: [100], options, pauseEvery: 200 }
  const worker = new Worker(CHILD, { workerData: data, transferList: [channel.port] })
  const begun = Date.now()
  while (opened.share.counters().dropped === 0 && Date.now() - begun < 60_000) { /* The owner is busy. */ }
  const counters = await endOf(worker)
  await until(() => opened.share.counters().queued === 0)
  const values = await valuesOf(opened)
  const gaps = values.filter(({ gap }) => gap !== undefined).map(({ gap }) => gap)
  const written = values.filter(({ gap }) => gap === undefined)
  t.ok(counters.dropped > 0, `${counters.dropped} dropped`)
  t.equal(counters.submitted, 1000)
  t.equal(gaps.reduce((sum, { count }) => sum + count, 0), counters.dropped)
  t.equal(written.length, 1000 - counters.dropped)
  t.ok(gaps.every(({ levels, count, from, to }) => levels.info === count && from <= to && from > 1e12))
  t.ok(written.every(({ n }, index) => index === 0 || n > written[index - 1].n), 'in order')
  await opened.close()
})

tape('threads: what is dropped while the owner tells of other drops has its time', async (t) => {
  const gaps = []
  const share = shareWriter({
    write (record) {
      if (record.gap !== undefined) gaps.push(record.gap)
      // The ring is still full; so this is dropped.
      else if (gaps.length === 0) thread.write('b'.repeat(900))
      return true
    },
    flushSync: () => true,
    drained: async () => {}
  }, { size: 4096 })
  const channel = share.connect()
  // It writes in the middle of the owner's work: only the same thread can do that each time.
  new Ring(channel.memory).words[OWNER_THREAD] = -1
  const thread = ThreadWriter(channel, { whenFull: 'drop-new' })
  const begun = Date.now()
  while (thread.write('a'.repeat(100))) { /* until one is dropped */ }
  await until(() => gaps.length === 2)
  t.equal(gaps[0].count, 1)
  t.ok(gaps.every(({ from, to }) => begun <= from && from <= to && to <= Date.now()), JSON.stringify(gaps))
  share.close()
  t.equal(gaps.reduce((sum, { count }) => sum + count, 0), share.counters().dropped)
})

tape('threads: an eager record is in the file when write returns; flush and flushSync', async (t) => {
  const opened = open()
  await opened.log.ready()
  const channel = opened.share.connect()
  const source = `const { workerData, parentPort } = require('node:worker_threads')
    const { ThreadWriter } = require(${JSON.stringify(path.join(__dirname, '..', 'threads'))})
    const writer = new ThreadWriter(workerData)
    writer.write({ n: 1 }, 'info')
    writer.write({ n: 2 }, 'error')
    parentPort.postMessage(writer.counters().taken)
    writer.write({ n: 3 })
    parentPort.postMessage(writer.flushSync())
    writer.write({ get n () { throw new Error('no') } }, 'no such level')
    writer.flush().then((done) => parentPort.postMessage(done))`
  const worker = new Worker(source, { eval: true, workerData: channel, transferList: [channel.port] })
  const answers = []
  worker.on('message', (answer) => answers.push([answer, opened.log.since.value === opened.log.durable.value]))
  await once(worker, 'exit')
  t.deepEqual(answers.map(([answer]) => answer), [2, true, true])
  t.ok(answers[1][1], 'synced')
  t.deepEqual((await valuesOf(opened)).map(({ n, msg }) => n ?? msg), [1, 2, 3, 'a record could not be encoded: the value has no JSON text, at /n: no'])
  t.equal(opened.writer.counters().levels.other.submitted, 1)
  await opened.close()
})

tape('threads: the end of the process takes what is in the rings, also in the middle of a write', (t) => {
  const file = newPath('a.log')
  const source = `
    const { Worker } = require('node:worker_threads')
    const { OffsetLog } = require('@millrace/offset-log')
    const { LogWriter, lines } = require('@millrace/log-writer')
    const { shareWriter } = require('@millrace/log-writer/threads')
    const log = OffsetLog(${JSON.stringify(file)}, { codec: lines })
    const writer = LogWriter(log)
    const share = shareWriter(writer)
    log.ready(() => {
      const channel = share.connect()
      const progress = new SharedArrayBuffer(4)
      const workerData = { channel, name: 'a', count: 1e9, progress }
      new Worker(${JSON.stringify(CHILD)}, { workerData, transferList: [channel.port] })
      setInterval(() => {
        const count = Atomics.load(new Int32Array(progress), 0)
        if (count < 1000) return
        console.log(count)
        process.exit()
      }, 50)
    })`
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', source], { encoding: 'utf8', cwd: __dirname })
  const log = OffsetLog(file, { codec: lines, flags: 'r' })
  const check = async () => {
    const values = await collect(log.stream({ seqs: false }))
    t.ok(Number(stdout) > 0, `${stdout.trim()} were submitted ${stderr.slice(0, 200)}`)
    t.ok(countsOf(t, values).a >= Number(stdout), `${values.length} are there`)
    await log.close()
  }
  return check()
})

tape('threads: the owner stops while a thread is in the middle of a write, which is counted once', async (t) => {
  const opened = open()
  const channel = opened.share.connect()
  const { numbers } = new Ring(channel.memory)
  const closed = once(channel.port, 'close')
  opened.share.close()
  numbers[PUSHED]++
  await closed
  await new Promise((resolve) => setImmediate(resolve))
  // As the thread does once it sees that the owner has stopped.
  numbers[PUSHED]--
  numbers[DIVERTED]++
  t.deepEqual(opened.share.counters(), { submitted: 1, taken: 0, queued: 0, dropped: 0, diverted: 1 })
  await opened.close()
})

tape('threads: a condition is refused, and nothing is written without it', async (t) => {
  const opened = open()
  await opened.log.ready()
  const channel = opened.share.connect()
  new Ring(channel.memory).words[OWNER_THREAD] = -1
  const thread = ThreadWriter(channel)
  t.throws(() => thread.write('1', { if: { where: [], since: -1 } }), { code: 'ERR_NOT_SUPPORTED' })
  t.ok(thread.write('2', 'a level that nobody knows'))
  t.equal(await thread.flush(), true)
  t.deepEqual(await valuesOf(opened), [2])
  await opened.close()
})

tape('threads: misuse, and the end of the owner', async (t) => {
  const opened = open()
  t.throws(() => shareWriter({}), { code: 'ERR_INVALID_ARGUMENT' })
  t.throws(() => shareWriter(opened.writer, { size: 5000 }), /power of two/)
  t.throws(() => ThreadWriter({}), { code: 'ERR_INVALID_ARGUMENT' })
  t.throws(() => ThreadWriter(opened.share.connect()), /this thread owns/)
  const worker = start(opened.share, { name: 'a', count: 200, sizes: [20], pauseEvery: 20 })
  worker.stderr?.resume()
  const told = once(worker, 'message')
  await until(() => opened.share.counters().submitted > 0)
  opened.share.close()
  const [{ submitted, taken, diverted, queued }] = await told
  t.equal(submitted, 200)
  t.equal(taken + diverted + queued, 200, `${taken} taken, ${diverted} to standard error`)
  // A thread that was at its end before the share closed may have counted what was still in its ring then.
  t.equal(countsOf(t, await valuesOf(opened)).a ?? 0, taken + queued, 'each is in the log or went to standard error')
  await opened.close()
})
