'use strict'
// The parts of a logger by themselves, as far as public calls show them: its queue, the clock, and memory that is used
// again.

const fs = require('node:fs')
const path = require('node:path')
const { LogWriter, lines } = require('@millrace/log-writer')
const { OffsetLog } = require('@millrace/offset-log')
const { time } = require('../../lib/measure')
const { median } = require('../../lib/report')

const QUEUE_COUNT = 1_000_000
const CALL_COUNT = 100_000
const SAMPLE_COUNT = 5
// The queue is as long as it usually is at most.
const FILLED_COUNT = 8192

/** Operations a second. @type {(count: number, work: () => unknown) => Promise<number>} */
async function rateOf (count, work) {
  await work()
  /** @type {number[]} */
  const rates = []
  while (rates.length < SAMPLE_COUNT) rates.push(count / await time(work) * 1000)
  return median(rates)
}

/**
 * @param {string} folder
 * @param {object} [options]
 */
async function openWriter (folder, options) {
  const log = OffsetLog(path.join(folder, 'log'), { codec: lines })
  await log.ready()
  const writer = LogWriter(log, options)
  const close = async () => {
    await writer.close()
    await log.close()
    fs.rmSync(path.join(folder, 'log'))
  }
  return { writer, close }
}

/**
 * Fills the queue of the writer, which is so long that nothing is written meanwhile, and empties it into the log: a
 * million records in all.
 * @param {{ folder: string }} setting
 */
async function measureQueue ({ folder }) {
  const limits = { count: FILLED_COUNT + 1, bytes: 2 ** 21 }
  const { writer, close } = await openWriter(folder, { queue: limits, batch: limits })
  const record = Buffer.from(JSON.stringify({ level: 30, msg: 'x'.repeat(78) }))
  let [pushMs, popMs] = [0, 0]
  for (let round = 0; round < 3; round++) {
    pushMs = popMs = 0
    for (let done = 0; done < QUEUE_COUNT; done += FILLED_COUNT) {
      pushMs += await time(() => { for (let n = 0; n < FILLED_COUNT; n++) writer.write(record) })
      if (writer.counters().total.queued !== FILLED_COUNT) throw new Error('the queue was emptied before it was full')
      popMs += await time(() => writer.flushSync({ sync: false }))
    }
  }
  await close()
  const count = FILLED_COUNT * Math.ceil(QUEUE_COUNT / FILLED_COUNT)
  return { push: count / pushMs * 1000, pop: count / popMs * 1000 }
}

/** Reads the clock for each of a million records, or keeps it for a batch. */
async function measureClock () {
  let sum = 0
  const each = await rateOf(QUEUE_COUNT, () => { for (let n = 0; n < QUEUE_COUNT; n++) sum += Date.now() })
  const cached = await rateOf(QUEUE_COUNT, () => {
    let now = 0
    for (let n = 0; n < QUEUE_COUNT; n++) sum += n % 100 === 0 ? (now = Date.now()) : now
  })
  if (sum === 0) throw new Error('the clock stands still')
  return { each: 1e9 / each, cached: 1e9 / cached }
}

/** Logs a new object each time, or the same one, or its bytes. @param {{ folder: string }} setting */
async function measureReuse ({ folder }) {
  const { writer, close } = await openWriter(folder)
  const create = (/** @type {number} */ n) => ({ level: 30, time: n, pid: 4242, msg: 'request finished '.repeat(4) })
  const [object, bytes] = [create(1), Buffer.from(JSON.stringify(create(1)))]
  const fill = (/** @type {(n: number) => unknown} */ next) => async () => {
    for (let n = 0; n < CALL_COUNT; n++) writer.write(next(n))
    await writer.flush({ sync: false })
  }
  const figures = {
    fresh: await rateOf(CALL_COUNT, fill(create)),
    same: await rateOf(CALL_COUNT, fill(() => object)),
    bytes: await rateOf(CALL_COUNT, fill(() => bytes))
  }
  await close()
  return figures
}

exports.measureQueue = measureQueue
exports.measureClock = measureClock
exports.measureReuse = measureReuse
