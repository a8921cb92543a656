'use strict'
// `repair`: makes a sound log of a hostile one, and leaves that one as it is.

const { crc32 } = require('node:zlib')
const { Failure, ensure, ensureSame, show } = require('../answers')
const { ask, checkDoubles, scan } = require('../logs/ask')
const { makeLog, prepareBases } = require('../logs/make-log')

const FILE = '/log'
const OUT = '/out'

/**
 * @typedef {object} Plan
 * @property {boolean} write
 * @property {number} pick
 * @property {boolean} isSteady
 * @property {boolean} isOrdinary  whether no checksum was made to fit again
 * @property {import('../logs/make-bases').Known[] | null} known
 */

exports.name = 'repair'
exports.count = 250_000
exports.batchSize = 2000
exports.isSync = false
exports.limits = {
  steps: { fixed: 600_000, perByte: 300 },
  callCount: { fixed: 3000, perByte: 1 },
  transferred: { fixed: 4_000_000, perByte: 100 }
}
exports.isThere = (/** @type {import('../library').Library} */ library) => library.has('repair/lib/repair.js')

exports.prepare = prepareBases

/**
 * @param {(limit: number) => number} random
 * @param {import('../logs/make-bases').Base[][]} bases
 * @returns {{ bytes: Buffer, plan: Plan }}
 */
exports.make = (random, bases) => {
  const { bytes, origin, base, mayHaveGaps } = makeLog(random, bases)
  const isOrdinary = origin === 'sound' || origin === 'damaged'
  return {
    bytes,
    plan: {
      write: random(8) > 0,
      pick: random(2 ** 30),
      isSteady: mayHaveGaps,
      isOrdinary,
      known: isOrdinary && base.framing === 'checked' ? base.known : null
    }
  }
}

/**
 * @param {{ bytes: Buffer, plan: Plan }} sample
 * @param {import('../surroundings').Surroundings} surroundings
 */
exports.run = async ({ bytes, plan }, surroundings) => {
  const { write, pick, isSteady } = plan
  const { OffsetLog } = surroundings.library.load('offset-log')
  const { repair } = surroundings.library.load('repair')
  const storage = surroundings.createStorage(pick, isSteady)
  storage.put(FILE, Buffer.from(bytes))
  const report = await ask('repair', (cb) => repair(FILE, OUT, { write, storage }, cb))
  const files = storage.list().map((path) => [path, storage.read(path).length, crc32(storage.read(path))])
  /** @type {Record<string, any>} */
  const answers = { report, files, out: null }
  if (!(report instanceof Failure) && write && report.framing !== null) {
    const log = OffsetLog(OUT, { flags: 'r', storage, ...surroundings.choose(pick, isSteady) })
    const opened = await ask('ready', (cb) => log.ready(cb))
    const isOpen = !(opened instanceof Failure)
    const read = isOpen ? [await scan(log, {}), await scan(log, { reverse: true })] : []
    answers.out = { opened, damage: log.recovery?.damage ?? [], read }
    await ask('close', (cb) => log.close(cb))
  }
  checkDoubles()
  return answers
}

/**
 * @param {{ bytes: Buffer, plan: Plan }} sample
 * @param {Record<string, any>} answers
 */
exports.judge = ({ bytes, plan }, { report, files, out }) => {
  ensureSame('the damaged log, afterwards', files.find((/** @type {any[]} */ [path]) => path === FILE), [FILE, bytes.length, crc32(bytes)])
  const expected = !(report instanceof Failure) && plan.write ? [FILE, OUT] : [FILE]
  ensureSame('the files, afterwards', files.map((/** @type {any[]} */ [path]) => path), expected)
  if (out === null) return
  ensure(!(out.opened instanceof Failure) && out.damage.length === 0, () => `the repaired log: ${show(out)}`)
  const [forward, backward] = out.read
  // Checksums can be forged. Records that hold by them are kept as they are, even if no dictionary ever packed them.
  const isForged = !plan.isOrdinary && out.read.some(isUndecodable)
  if (isForged) return ensure(out.read.every(isUndecodable), () => `one direction reads what the other cannot: ${show(out)}`)
  for (const { end } of out.read) ensure(!(end instanceof Failure), () => `the repaired log cannot be read: ${show(end)}`)
  ensureSame('what a repaired log has in both directions', forward.items.length, backward.items.length)
  if (!plan.isOrdinary) return
  ensureSame('the records of the report and of the repaired log', report.recovered, forward.items.length / 3)
  if (plan.known) judgeKnown(plan.known, forward.items)
}

/** @type {(read: { end: unknown }) => boolean} */
function isUndecodable ({ end }) {
  return end instanceof Failure && end.code === 'ERR_CODEC_DECODE'
}

/**
 * @param {import('../logs/make-bases').Known[]} known
 * @param {number[]} items
 */
function judgeKnown (known, items) {
  const keys = new Set(known.map((record) => record.join()))
  for (let index = 0; index < items.length; index += 3) {
    const key = items.slice(index, index + 3).join()
    ensure(keys.has(key), () => `a record that was never appended: seq, size and checksum ${key}`)
  }
}
