'use strict'
// The records that wait, in order, in a ring of parallel arrays: an object per record would be garbage that each call
// makes.

const COUNT_MIN = 64

/**
 * @typedef {import('./levels').Level} Level
 * @typedef {object} Batch  records that are handed to the log together
 * @property {Buffer[]} records
 * @property {Array<Level | null>} levels  null for a gap record
 * @property {number[]} times
 * @property {number} size  in bytes
 * @property {boolean} isWritten  whether it is counted as written
 */

class RecordQueue {
  /** Null where a record was dropped. @type {Array<Buffer | null>} */
  #records = new Array(COUNT_MIN).fill(null)
  /** @type {Array<Level | null>} */
  #levels = new Array(COUNT_MIN).fill(null)
  /** @type {number[]} */
  #times = new Array(COUNT_MIN).fill(0)
  /** Ordinals of the first record, and after the last one. Batches that are put back make them negative. */
  #head = 0
  #end = 0
  /** No record before this ordinal can be dropped. */
  #droppable = 0
  /** How many records wait, and their bytes. */
  count = 0
  size = 0

  /** When the oldest record was submitted, by the steady clock. */
  get oldestTime () {
    return this.#times[this.#head & (this.#times.length - 1)]
  }

  /** @type {(record: Buffer, level: Level | null, time: number) => void} */
  push (record, level, time) {
    if (this.#end - this.#head === this.#records.length) this.#makeRoom()
    this.#put(this.#end++, record, level, time)
  }

  /** Puts a batch back in front. @param {Pick<Batch, 'records' | 'levels' | 'times'>} batch */
  putBack ({ records, levels, times }) {
    for (let index = records.length - 1; index >= 0; index--) {
      if (this.#end - this.#head === this.#records.length) this.#makeRoom()
      this.#put(--this.#head, records[index], levels[index], times[index])
    }
    this.#droppable = this.#head
  }

  /** @type {(ordinal: number, record: Buffer, level: Level | null, time: number) => void} */
  #put (ordinal, record, level, time) {
    const at = ordinal & (this.#records.length - 1)
    this.#records[at] = record
    this.#levels[at] = level
    this.#times[at] = time
    this.count++
    this.size += record.length
  }

  /** Leaves out what was dropped, and makes the ring larger if that is not enough. */
  #makeRoom () {
    const { records, levels, times } = this.take(Infinity)
    let length = COUNT_MIN
    while (length < 2 * records.length) length *= 2
    this.#records = new Array(length).fill(null)
    this.#levels = new Array(length).fill(null)
    this.#times = new Array(length).fill(0)
    this.#head = this.#end = this.#droppable = 0
    for (let index = 0; index < records.length; index++) this.push(records[index], levels[index], times[index])
  }

  /**
   * Drops the oldest record that is not protected.
   * @param {(level: Level, time: number, record: Buffer) => void} onDrop
   * @returns {boolean}  false if there is none
   */
  dropOldest (onDrop) {
    this.#droppable = Math.max(this.#droppable, this.#head)
    while (this.#droppable < this.#end) {
      const at = this.#droppable++ & (this.#records.length - 1)
      const record = this.#records[at]
      const level = this.#levels[at]
      if (record === null || level === null || level.isProtected) continue
      this.#records[at] = null
      this.count--
      this.size -= record.length
      onDrop(level, this.#times[at], record)
      return true
    }
    return false
  }

  /**
   * Takes the first records.
   * @param {number} sizeMax  in bytes; a single record may be larger
   * @returns {Batch}
   */
  take (sizeMax) {
    /** @type {Batch} */
    const batch = { records: [], levels: [], times: [], size: 0, isWritten: false }
    for (; this.#head < this.#end; this.#head++) {
      const at = this.#head & (this.#records.length - 1)
      const record = this.#records[at]
      if (record === null) continue
      if (batch.records.length > 0 && batch.size + record.length > sizeMax) break
      batch.records.push(record)
      batch.levels.push(this.#levels[at])
      batch.times.push(this.#times[at])
      batch.size += record.length
      this.#records[at] = null
    }
    this.count -= batch.records.length
    this.size -= batch.size
    return batch
  }
}

exports.RecordQueue = RecordQueue
