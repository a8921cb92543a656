'use strict'
// The words of one checked file with a dictionary: packs what is appended, finds the words when the file is opened, and
// unpacks what is read. Everything above the store sees records without a dictionary.
//
// The words stand in records of their own, which readers leave out. New words come first in the commit that first uses
// them. At distances all words are written again, so that the file is never read far for them.

const { LogError } = require('@millrace/errors')
const {
  Dictionary, WORDS_RECORD_SIZE_MAX, encodeWords, firstWordId, isWordsRecord, learnWords, maxWordId, packRecord,
  unpackRecord
} = require('@millrace/dictionary')
const { allocateShared, promisesOf, ScratchBuffer } = require('@millrace/flow')
const { tooLargeToRead } = require('@millrace/framing')
const { RecordRun } = require('./record-run')

// All words are written again after this many bytes of the log, or after this many times their own size. The first
// bounds what is read at the next open, the second what they add to the file: 1/64.
const SNAPSHOT_DISTANCE = 1024 * 1024
const SNAPSHOT_SHARE = 64
/** A word takes this much more than its text; and records of words take less than a quarter more than their words. */
const WORD_OVERHEAD = 2
/** @type {Buffer[]} */
const NOTHING = []
/** Of records as they usually are: if they are larger, the memory grows. */
const UNPACKED_SIZE = 128
const OUTPUT_SIZE_MAX = 1024 * 1024

/**
 * @typedef {import('./commit').Frameable} Frameable
 * @typedef {import('@millrace/framing').AppendedSlices} AppendedSlices
 * @typedef {import('./checked-store').CheckedStore} CheckedStore
 * @typedef {{ count: number, snapshotAt: number }} WordsWritten  how many words the file has, and the logical position
 *   of the commit that last had all of them; -1 if there is none
 */

class FileWords {
  dictionary = new Dictionary()
  /** What the file has; the dictionary may already know more. @type {WordsWritten} */
  #written = { count: 0, snapshotAt: -1 }
  #target = new ScratchBuffer()
  #cuts = new Uint32Array(0)
  /** What the record that was unpacked last is read from. */
  output = { bytes: Buffer.alloc(0), end: 0 }

  /**
   * How many bytes of frames a commit has at most.
   * @type {(size: number, position: number) => number} `size`: of the frames of the records, unpacked. `position`: the
   *   logical one where the commit begins
   */
  framesSizeMax (size, position) {
    const { count } = this.dictionary
    const first = this.#isSnapshotDue(position) ? 0 : this.#written.count
    const { starts, size: total } = this.dictionary
    const known = total - (first < count ? starts[first] : total) + WORD_OVERHEAD * (count - first)
    // The records may bring new words, none larger than its text.
    return size + Math.ceil(1.25 * (known + WORD_OVERHEAD * size)) + WORDS_RECORD_SIZE_MAX
  }

  /** @param {number} position */
  #isSnapshotDue (position) {
    const { snapshotAt } = this.#written
    return snapshotAt === -1 ||
      position - snapshotAt >= Math.max(SNAPSHOT_DISTANCE, SNAPSHOT_SHARE * this.dictionary.size)
  }

  /**
   * @param {Frameable} group
   * @param {number} position  the logical one where the commit begins
   * @returns {{ packed: AppendedSlices, words: WordsWritten }}  `packed` begins with the words that the file does not
   *   have. Call `noteWritten` once it is in the file. If it never is, the next commit has them too. Valid until the
   *   next call
   */
  pack ({ records, ends, seqs, count }, position) {
    const { dictionary } = this
    const recordCount = ends[count - 1]
    let size = 0
    for (let index = 0; index < recordCount; index++) size += records[index].length + 1
    const bytes = this.#target.ofSize(size)
    if (this.#cuts.length <= recordCount) this.#cuts = new Uint32Array(2 * recordCount + 1)
    const cuts = this.#cuts
    for (let index = 0, at = 0; index < recordCount; index++) {
      cuts[index + 1] = at = packRecord(dictionary, records[index], bytes, at)
    }
    const isSnapshot = this.#isSnapshotDue(position)
    const { count: writtenCount, snapshotAt } = this.#written
    const words = { count: dictionary.count, snapshotAt: isSnapshot ? position : snapshotAt }
    const isNews = isSnapshot || words.count > writtenCount
    const first = isNews ? encodeWords(dictionary, isSnapshot ? 0 : writtenCount) : NOTHING
    return { packed: { first, bytes, cuts, ends, seqs, count }, words }
  }

  /** @param {WordsWritten} words */
  noteWritten (words) {
    this.#written = words
  }

  /**
   * Learns the words of a record that is in the file. Whoever reads a record that needs words which cannot be read gets
   * the error.
   * @type {(bytes: Uint8Array, start: number, end: number, seq: number) => void}
   */
  learn (bytes, start, end, seq) {
    ignoreBad(() => learnWords(this.dictionary, bytes, start, end), undefined)
    const isSnapshot = ignoreBad(() => firstWordId(bytes, start, end), -1) === 0
    this.#written = { count: this.dictionary.count, snapshotAt: isSnapshot ? seq : this.#written.snapshotAt }
  }

  /**
   * Reads backwards until all words are found.
   * @param {CheckedStore} store
   * @returns {Promise<Set<number>>}  the seqs of the words records that were met
   */
  async load (store) {
    /** @type {Array<{ seq: number, bytes: Buffer }>} */
    const found = []
    let maxId = -1
    let isDone = false
    const range = { from: 0, stop: Infinity, reverse: true, skipsDamage: true, isStrict: true, looksAgain: false }
    const reader = await promisesOf(store).openReader(range)
    while (!isDone) {
      const { buffer, seqs, starts, ends, count } = await promisesOf(reader).next(store.logEnd)
      if (count === 0) break
      for (let index = 0; index < count && !isDone; index++) {
        const start = starts[index]
        const end = ends[index]
        if (!isWordsRecord(buffer, start, end)) {
          maxId = Math.max(maxId, ignoreBad(() => maxWordId(buffer, start, end), -1))
          continue
        }
        found.push({ seq: seqs[index], bytes: Buffer.from(buffer.subarray(start, end)) })
        isDone = ignoreBad(() => firstWordId(buffer, start, end), -1) === 0
      }
    }
    for (const { seq, bytes } of found.reverse()) this.learn(bytes, 0, bytes.length, seq)
    // If the last words were lost to damage, their ids must not be given to other words.
    while (this.dictionary.count <= maxId) this.dictionary.add(Buffer.alloc(0), 0, 0)
    return new Set(found.map(({ seq }) => seq))
  }

  /**
   * Unpacks one record into `output`, whatever was there.
   * @type {(bytes: Uint8Array, start: number, end: number) => void}
   * @throws {LogError} ERR_CODEC_DECODE
   */
  unpackOne (bytes, start, end) {
    // The memory of a large record is not kept for the small ones that follow.
    if (this.output.bytes.length > OUTPUT_SIZE_MAX) this.output.bytes = Buffer.alloc(0)
    this.output.end = 0
    unpackRecord(this.dictionary, bytes, start, end, this.output)
  }
}

/**
 * Records that cannot be read teach nothing.
 * @template T
 * @param {() => T} run
 * @param {T} otherwise
 * @returns {T}
 */
function ignoreBad (run, otherwise) {
  try {
    return run()
  } catch (err) {
    if (err instanceof LogError) return otherwise
    throw err
  }
}

/** A run of a store's reader, unpacked and without words records. */
class UnpackedRun extends RecordRun {
  /** Why the record after these cannot be read. @type {LogError | null} */
  failure = null
  #output = { bytes: Buffer.alloc(0), end: 0 }
  /** Whether somebody may keep the bytes of the output. */
  #isKept = false

  /**
   * @param {RecordRun} run
   * @param {FileWords} words
   * @param {object} how
   * @param {number} how.maxRecordSize  in bytes
   * @param {boolean} how.keepsBytes  whether the bytes of this run may be kept
   * @param {((index: number) => void) | null} how.onLost  called for records of `run` that cannot be unpacked, which
   *   are then left out; null if such a record ends the run
   */
  fill (run, { dictionary }, { maxRecordSize, keepsBytes, onLost }) {
    const { buffer, seqs, starts, ends, count } = run
    const output = this.#output
    this.failure = null
    this.clear()
    while (this.seqs.length < count) this._grow()
    if (keepsBytes || this.#isKept || output.bytes.length === 0) output.bytes = allocateShared(UNPACKED_SIZE * count)
    this.#isKept = keepsBytes
    output.end = 0
    for (let index = 0; index < count; index++) {
      const start = starts[index]
      const end = ends[index]
      if (isWordsRecord(buffer, start, end)) continue
      const from = output.end
      try {
        unpackRecord(dictionary, buffer, start, end, output)
      } catch (err) {
        if (onLost !== null) {
          onLost(index)
          continue
        }
        this.failure = unreadable(/** @type {LogError} */ (err), seqs[index])
        break
      }
      const size = output.end - from
      if (size > maxRecordSize) {
        this.failure = tooLargeToRead(seqs[index], size, maxRecordSize)
        break
      }
      this.add(seqs[index], from, output.end)
    }
    this.buffer = output.bytes
  }
}

/** @type {(err: LogError, seq: number) => LogError} */
function unreadable (err, seq) {
  return new LogError('ERR_CODEC_DECODE', `the record at ${seq} cannot be unpacked: ${err.message}`, { cause: err, offset: seq })
}

exports.FileWords = FileWords
exports.UnpackedRun = UnpackedRun
exports.WORDS_RECORD_SIZE_MAX = WORDS_RECORD_SIZE_MAX
exports.isWordsRecord = isWordsRecord
exports.unreadable = unreadable
