'use strict'
// Times a reader of the bench's shape, and checks what it delivered: by counts within the time, by a digest after it.

const { ByteTally, ValueTally } = require('../../lib/tally')
const { CODECS } = require('./readers')

const EVERY = 1000

/** Next to nothing beside what is timed. Fields of a class, since V8 keeps a double in them without allocating. */
class ByteCounts {
  constructor () {
    this.records = 0
    this.delivered = 0
    this.seqSum = 0
  }

  /**
   * @param {number} seq
   * @param {Uint8Array} buf
   * @param {number} start
   * @param {number} end
   */
  visit (seq, buf, start, end) {
    this.records++
    this.delivered += end - start
    this.seqSum += seq
  }
}

/** Of values there is nothing to add up but where they lie. */
class ValueCounts {
  constructor () {
    this.records = 0
    this.delivered = 0
    this.seqSum = 0
  }

  /** @param {number} seq */
  visit (seq) {
    this.records++
    this.seqSum += seq
  }
}

/**
 * What a reader shows, and how it is tallied.
 * @typedef {object} Kind
 * @property {boolean} [values]  it shows values, not bytes
 * @property {'json' | 'binary'} [decode]  the digest is of the values in the bytes: those of two formats compare so
 * @property {number} [every]  which of them the digest is of
 * @property {Array<keyof import('../../lib/shapes').TallyResult>} keys  what both sides of a row, and the log that was
 *   prepared, must agree in. Seqs of two logs differ, and so do the bytes of two formats
 */

/**
 * @param {import('../../lib/shapes').Reader<any>} reader  visits records: bytes, or values
 * @param {Kind} kind
 * @returns {import('./shapes').Runner}
 */
function timeReader (reader, { values = false, decode, every = EVERY, keys }) {
  const createCounts = () => values ? new ValueCounts() : new ByteCounts()
  let counts = createCounts()
  return {
    async sample () {
      const timed = counts = createCounts()
      const started = performance.now()
      await reader.run((/** @type {number} */ seq, /** @type {any} */ one, /** @type {number} */ start,
        /** @type {number} */ end) => timed.visit(seq, one, start, end))
      return performance.now() - started
    },
    async finish () {
      const check = createCounts()
      const tally = values || decode ? new ValueTally({ every }) : new ByteTally({ every })
      const codec = decode && CODECS[decode]
      await reader.run((/** @type {number} */ seq, /** @type {any} */ one, /** @type {number} */ start,
        /** @type {number} */ end) => {
        check.visit(seq, one, start, end)
        tally.visit(seq, codec ? codec.decodeRange(one, start, end) : one, start, end)
      })
      await reader.close()
      if (check.records !== counts.records || check.delivered !== counts.delivered || check.seqSum !== counts.seqSum) {
        throw new Error(`two runs gave ${check.records} and ${counts.records} records, or not the same ones`)
      }
      const result = tally.result()
      return Object.fromEntries(keys.map((key) => [key, result[key]]))
    }
  }
}

exports.timeReader = timeReader
