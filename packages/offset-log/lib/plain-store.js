'use strict'
// What the stores of logs have in common whose files hold nothing but records: no head, no checksums, no dictionary,
// and no word on how far they are durable.

/**
 * Returns the size of the frame.
 * @typedef {(record: Buffer, seq: number, target: Buffer, offset: number) => number} WriteFrame
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('@millrace/framing').Packed} Packed
 */

class PlainStore {
  /**
   * @param {LogFile} file
   * @param {string} name  of the framing
   */
  constructor (file, name) {
    this.name = name
    this.isChecked = /** @type {const} */ (false)
    /** These framings do not store it. @type {string | null} */
    this.codecName = null
    this.recordSizeMax = Infinity
    /** Always 0: other programs would take reserved zeros for records. */
    this.reserveSize = 0
    /** Always false: the seqs that a power cut took are given again. */
    this.hasSkippedSeqs = false
    this.file = file
    this.blocks = file.blocks
    this.maxRecordSize = file.maxRecordSize
    /** These framings store no dictionary. @type {import('./file-words').FileWords | null} */
    this.words = null
    /** Always -1: these files do not say how far they are durable. */
    this.durableLast = -1
    this.last = -1
    /** Damage after the end. @type {Error | null} */
    this.damage = null
    /** Position after the last readable record. */
    this.end = 0
    /** Position after the last written record. */
    this.writtenEnd = 0
    /** @type {NoCheckpoints | import('./append/lines-checkpoints').LinesCheckpoints} */
    this.checkpoints = new NoCheckpoints(this)
  }

  /** @type {WriteFrame} */
  writeFrame () {
    throw new Error('each framing writes its own')
  }

  /** Seqs are positions in the file. */
  get logEnd () {
    return this.end
  }

  /** Where the records are in the file, from the first one on. */
  get extent () {
    return { start: 0, end: this.end }
  }

  /** These files do not name their log. @returns {Buffer | null} */
  get id () {
    return null
  }

  /** Rises when positions may have other records than before; null if nothing tells. @returns {number | null} */
  get epoch () {
    return null
  }

  cacheStats () {
    return this.blocks.cacheStats()
  }

  /**
   * @param {import('./commit').Frameable} group  its `seqs` are set
   * @param {Buffer} target  large enough; the result uses its memory, until the next call
   * @param {number} [size]  of what is in the target already
   * @returns {Packed}
   */
  frame ({ records, ends, seqs, count }, target, size = 0) {
    const start = this.writtenEnd
    let seq = -1
    for (let index = 0, record = 0; index < count; index++) {
      for (const end = ends[index]; record < end; record++) {
        seq = start + size
        size += this.writeFrame(records[record], seq, target, size)
      }
      seqs[index] = seq
    }
    return { bytes: target.subarray(0, size), seq, tail: { end: start + size, shift: 0, chainCrc: 0 } }
  }

  /** @param {Packed} packed  was written to the file */
  noteWritten ({ tail }) {
    this.writtenEnd = tail.end
  }

  /** @param {Packed} packed  becomes readable */
  show ({ tail }) {
    this.end = tail.end
  }

  /** @param {number} end  of what is written and readable */
  setEnd (end) {
    this.end = this.writtenEnd = end
  }

  /** Empties the caches, because another process may have changed the file. */
  forget () {
    this.blocks.invalidate()
  }

  /** @returns {Promise<number>} */
  async measureReclaimable () {
    return 0
  }
}

/** Stands for `Checkpoints`: such a file says neither how far it is durable nor which positions were lost. */
class NoCheckpoints {
  #store
  /** Whether the file was synced since the log was opened. `Durability` knows what was written since then. */
  isClean = false

  /** @param {PlainStore} store */
  constructor (store) {
    this.#store = store
  }

  get isFinished () {
    return this.isClean
  }

  prepareAppend () {
    return null
  }

  /** @returns {import('./load').Mark} */
  mark () {
    const { file, writtenEnd } = this.#store
    return { since: file.writtenSince, end: writtenEnd, shift: 0, chainCrc: 0, last: -1 }
  }

  synced () {
    this.isClean = true
  }

  noteSynced () {
    this.isClean = true
  }

  async finish () {}

  completeNow () {}

  prepareAppendNow () {}

  get canFinishNow () {
    const { blocks, writtenEnd } = this.#store
    return blocks.size.value === writtenEnd
  }

  finishNow () {
    this.#store.blocks.syncNow()
    this.isClean = true
  }
}

exports.PlainStore = PlainStore
