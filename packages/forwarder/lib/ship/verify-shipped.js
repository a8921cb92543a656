'use strict'
// Compares a target with the log that was shipped into it: reads both from their beginnings, side by side. Counts and
// digests by range tell which parts are the same, also to somebody who has only one of the logs.

const crypto = require('node:crypto')
const { checkOptions, misuse, reasonOf } = require('@millrace/errors')
const { isText } = require('../log-watch')
const { checkLog } = require('../options')
const { targetOf } = require('./log-target')
const { textOf } = require('./text-of')

const RANGE_COUNT = 10_000
const DIFFERENCE_COUNT_MAX = 100

/** @typedef {import('./log-sink').ShippedRecord} ShippedRecord */
/**
 * @typedef {object} VerifyOptions
 * @property {number} [lte]  the last seq of the source to compare; by default the last one that it has
 * @property {number} [rangeCount]  how many records of the source make one of the `ranges`; 10,000 by default
 * @property {AbortSignal} [signal]  ends the comparison
 */

/**
 * @typedef {object} ShippedRange
 * @property {number} from  the first seq of the source
 * @property {number} to  the last one
 * @property {{ count: number, digest: string }} source  SHA-256, in hex
 * @property {{ count: number, digest: string }} target
 * @property {boolean} isSame
 */

/**
 * What is wrong: `missing`, `different`, `twice`, `disordered` (after a later record), `foreign` (not of this log),
 * and `extra`: the source has no such record. What is not: the source has since `deleted`, `retained` (dropped with
 * its segment), `lost` (in a power cut) or `damaged` a record that the target has.
 * @typedef {'missing' | 'different' | 'twice' | 'disordered' | 'foreign' | 'extra' | 'deleted' | 'retained' | 'lost' |
 *   'damaged'} DifferenceKind
 *
 * @typedef {object} Difference  some records in a row
 * @property {DifferenceKind} what
 * @property {number} from  seq of the source; of a foreign record in the target
 * @property {number} to
 * @property {number} count
 */

/**
 * @typedef {object} ShippedReport
 * @property {boolean} isSame  whether the target has every record of the source up to `lte`, once, in order, and no
 *   other one. Records that the source has lost since do not make it false
 * @property {number} source  how many records of the source were compared
 * @property {number} target  how many records of the target were compared
 * @property {Record<DifferenceKind, number>} counts  how many records there are of each kind of difference
 * @property {Difference[]} differences  the first 100
 * @property {ShippedRange[]} ranges  counts and digests of both sides, in ranges of `rangeCount` records
 * @property {{ count: number, size: number }} lost  damaged ranges of the source, and their bytes
 */

const WRONG = /** @type {const} */ (['missing', 'different', 'twice', 'disordered', 'foreign', 'extra'])
const GONE = /** @type {Record<string, DifferenceKind>} */ ({
  'flumelog:deleted': 'deleted',
  ERR_LOG_SEQ_RETAINED: 'retained',
  ERR_LOG_SEQ_LOST: 'lost',
  ERR_LOG_CORRUPT: 'damaged',
  ERR_CODEC_DECODE: 'damaged',
  ERR_RECORD_NOT_FOUND: 'extra'
})

/** Adds up what is found. */
class Findings {
  /** @type {Record<DifferenceKind, number>} */
  counts = {
    missing: 0,
    different: 0,
    twice: 0,
    disordered: 0,
    foreign: 0,
    extra: 0,
    deleted: 0,
    retained: 0,
    lost: 0,
    damaged: 0
  }

  /** @type {Difference[]} */
  differences = []
  /** @type {ShippedRange[]} */
  ranges = []
  source = 0
  target = 0
  #rangeCount
  #from = -1
  #to = -1
  #sides = [new Side(), new Side()]

  /** @param {number} rangeCount  records of the source in a range */
  constructor (rangeCount) {
    this.#rangeCount = rangeCount
  }

  /** @type {(what: DifferenceKind, seq: number) => void} */
  note (what, seq) {
    this.counts[what]++
    const last = this.differences[this.differences.length - 1]
    if (last?.what === what) {
      last.to = seq
      last.count++
    } else if (this.differences.length < DIFFERENCE_COUNT_MAX) {
      this.differences.push({ what, from: seq, to: seq, count: 1 })
    }
  }

  /** A record of one or both logs. @type {(seq: number, source: string | null, target: string | null) => void} */
  add (seq, source, target) {
    if (this.#sides[0].count === this.#rangeCount && source !== null) this.endRange()
    if (this.#from === -1) this.#from = seq
    this.#to = seq
    if (source !== null) this.#sides[0].add(seq, source)
    if (target !== null) this.#sides[1].add(seq, target)
  }

  endRange () {
    if (this.#from === -1) return
    const [source, target] = this.#sides.map((side) => side.end())
    this.ranges.push({ from: this.#from, to: this.#to, source, target, isSame: source.digest === target.digest })
    this.#sides = [new Side(), new Side()]
    this.#from = -1
  }
}

class Side {
  count = 0
  #hash = crypto.createHash('sha256')

  /** @type {(seq: number, text: string) => void} */
  add (seq, text) {
    this.count++
    this.#hash.update(`${seq} ${text.length} ${text}\n`)
  }

  end () {
    return { count: this.count, digest: this.#hash.digest('hex') }
  }
}

/**
 * Reads a log and the log that it was shipped into, and compares them.
 * @param {any} log  the source
 * @param {any} target  a log
 * @param {VerifyOptions} [options]
 * @returns {Promise<ShippedReport>}
 */
async function verifyShipped (log, target, options = {}) {
  checkLog('verifyShipped', log, ['stream', 'since'])
  if (typeof target?.shipTarget !== 'function') checkLog('verifyShipped: the target', target, ['stream', 'since'])
  checkOptions('verifyShipped', options, ['lte', 'rangeCount', 'signal'])
  const { rangeCount = RANGE_COUNT, signal } = options
  if (!Number.isSafeInteger(rangeCount) || rangeCount < 1) {
    throw misuse(`verifyShipped: rangeCount must be a whole number of records, got ${reasonOf(rangeCount)}`)
  }
  await log.ready()
  const reader = targetOf(target)
  const { last } = await reader.readEnd()
  const { lte = log.since.value } = options
  const onCorrupt = log.supports.onCorrupt ? 'skip' : undefined
  const stream = log.stream({ lte, onCorrupt, signal })
  const found = new Findings(rangeCount)
  await compare({ log, source: stream, target: reader.read({ signal }), found, owner: await findOwner(log, last) })
  found.endRange()
  const { counts, differences, ranges, source, target: targetCount } = found
  const isSame = WRONG.every((what) => counts[what] === 0)
  return { isSame, source, target: targetCount, counts, differences, ranges, lost: stream.lost }
}

/**
 * A log without an id was shipped under that of its cursor. A text may have got an id since.
 * @type {(log: any, last: ShippedRecord | null) => Promise<string | null>}
 */
async function findOwner (log, last) {
  const { id = null } = await log.stats()
  const shipped = last?.log ?? null
  return isText(log) ? shipped ?? id : id ?? shipped
}

/**
 * @param {object} parts
 * @param {any} parts.log
 * @param {AsyncIterable<{ seq: number, value: any }>} parts.source
 * @param {AsyncIterable<ShippedRecord>} parts.target
 * @param {Findings} parts.found
 * @param {string | null} parts.owner  the id that records of the source have in the target
 */
async function compare ({ log, source, target, found, owner }) {
  const records = source[Symbol.asyncIterator]()
  let next = await records.next()
  /** Moves to the first record of the source at or above a seq. @param {number} seq */
  const passMissing = async (seq) => {
    while (!next.done && next.value.seq < seq) {
      found.source++
      found.note('missing', next.value.seq)
      found.add(next.value.seq, textOf(next.value.value), null)
      next = await records.next()
    }
  }
  const classify = createClassifier(log)
  let before = -1
  for await (const { at, log: from, seq, value } of target) {
    found.target++
    if (from !== owner) {
      found.note('foreign', at)
    } else if (seq <= before) {
      found.note(seq === before ? 'twice' : 'disordered', seq)
    } else {
      before = seq
      await passMissing(seq)
      const text = textOf(value)
      if (next.done || next.value.seq !== seq) {
        const what = await classify(seq)
        // After the last seq to be compared.
        if (what === null) break
        found.note(what, seq)
        if (what === 'extra') found.add(seq, null, text)
      } else {
        const sourceText = textOf(next.value.value)
        found.source++
        if (sourceText !== text) found.note('different', seq)
        found.add(seq, sourceText, text)
        next = await records.next()
      }
    }
  }
  await passMissing(Infinity)
}

/**
 * Why the source gives no record at a seq; null if it has one.
 * @param {any} log
 * @returns {(seq: number) => Promise<DifferenceKind | null>}
 */
function createClassifier (log) {
  /** Nothing below it is there any more. */
  let keptFrom = -1
  return async (seq) => {
    if (seq < keptFrom) return 'retained'
    try {
      await log.get(seq)
      return null
    } catch (/** @type {any} */ err) {
      if (!Object.hasOwn(GONE, err.code)) throw err
      if (err.code === 'ERR_LOG_SEQ_RETAINED') keptFrom = await log.first({ values: false }) ?? Infinity
      return GONE[err.code]
    }
  }
}

exports.verifyShipped = verifyShipped
