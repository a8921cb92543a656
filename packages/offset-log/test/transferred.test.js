'use strict'
// What a log gave out is transferred to another thread, memory and all, as Buffers for workers are: nothing else may go
// along with it.

const { MessageChannel } = require('node:worker_threads')
const tape = require('tape')
const { SimulatedDisk, collect } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const FILE = '/folder/log'
const COUNT = 300
const EVERY = 7

for (const framing of ['checked', 'offset48']) {
  for (const cache of [0, undefined]) {
    const label = `transferred: ${framing}, ${cache === 0 ? 'no cache' : 'a cache'}`
    tape(`${label}: what get gave takes nothing along`, (t) => withLog(framing, cache, async (log, seqs) => {
      const kept = new Map()
      for (const [index, seq] of seqs.entries()) {
        const value = await log.get(seq)
        if (index % EVERY === 0) transfer(value)
        else kept.set(index, value)
      }
      t.ok([...kept].every(([index, value]) => value.equals(recordOf(index))), 'all others stay as they were')
      for (const [index, seq] of seqs.entries()) {
        if (!(await log.get(seq)).equals(recordOf(index))) return t.fail(`record ${index}`)
      }
      t.pass('and all of them can be had again')
    }))

    tape(`${label}: nor what a stream gave`, (t) => withLog(framing, cache, async (log) => {
      for (const reverse of [false, true]) {
        const values = []
        for await (const value of log.stream({ seqs: false, reverse })) {
          if (values.length % EVERY === 0) transfer(value)
          values.push(value)
        }
        const others = values.filter((value, index) => index % EVERY !== 0)
        const expected = seqsOf(COUNT, reverse).filter((_, index) => index % EVERY !== 0).map(recordOf)
        t.deepEqual(others, expected, `reverse: ${reverse}`)
      }
    }))

    tape(`${label}: nor the buffer of a scan`, (t) => withLog(framing, cache, async (log) => {
      let count = 0
      await log.scan({}, (chunk) => {
        for (let index = 0; index < chunk.count; index++) {
          const value = chunk.buffer.subarray(chunk.starts[index], chunk.ends[index])
          if (value.equals(recordOf(count))) count++
          if (index === 3) transfer(chunk.buffer)
        }
      })
      t.equal(count, COUNT)
    }))
  }
}

/**
 * @param {string} framing
 * @param {number | undefined} cache
 * @param {(log: any, seqs: number[]) => Promise<void>} use
 */
async function withLog (framing, cache, use) {
  const log = OffsetLog(FILE, { framing, cache, storage: new SimulatedDisk().storage })
  const seqs = []
  for (let index = 0; index < COUNT; index++) seqs.push(await log.append(recordOf(index)))
  await use(log, seqs)
  await log.close()
}

/** @param {number} index */
function recordOf (index) {
  return Buffer.alloc(100 + index * 7 % 900, 1 + index % 255)
}

/**
 * @param {number} count
 * @param {boolean} isReversed
 */
function seqsOf (count, isReversed) {
  const indexes = Array.from({ length: count }, (_, index) => index)
  return isReversed ? indexes.reverse() : indexes
}

/** @param {Buffer} value  empty afterwards, unless its memory refuses: by an error from Node.js 21 on */
function transfer (value) {
  const { port1 } = new MessageChannel()
  try {
    port1.postMessage(value, [value.buffer])
  } catch (err) {
    if (/** @type {Error} */ (err).name !== 'DataCloneError') throw err
  } finally {
    port1.close()
  }
}

tape('transferred: a record before its append has called back: the append fails, with what is appended beside it, and the log goes on', async (t) => {
  for (const framing of ['checked', 'lines', 'offset32']) {
    for (const fsync of ['always', 'never']) {
      const log = OffsetLog(FILE, { storage: new SimulatedDisk().storage, framing, fsync })
      await log.ready()
      const record = Buffer.from(new ArrayBuffer(100)).fill('x')
      const appends = ['a', record, ['b', 'c']].map((given) => log.append(toBytes(given)))
      transfer(record)
      const codes = (await Promise.allSettled(appends)).map(({ reason }) => reason?.code)
      t.deepEqual(codes, Array(3).fill('ERR_INVALID_ARGUMENT'), `${framing}, ${fsync}`)
      await log.append(toBytes('d'))
      t.deepEqual((await collect(log.stream({ seqs: false }))).map(String), ['d'])
      await log.close()
    }
  }
})

function toBytes (given) {
  return Array.isArray(given) ? given.map(toBytes) : Buffer.from(given.buffer ?? given)
}
