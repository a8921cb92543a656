'use strict'
// Drives the survey of a file of the checked framing, which another process, or this one, may be writing. Beside a
// writer a chunk may look damaged while it is being erased. So before anything counts as damaged the head is read anew,
// since it says what is being erased, and the bytes too, until they stay the same.

const { LogError } = require('@millrace/errors')
const { call, pause } = require('@millrace/flow')
const {
  FRAME_TYPES, HEAD_SIZE, LENGTH_SIZE, haveSameJournals, readHead, rememberErasures
} = require('@millrace/framing')
const { STEP, Survey, endOfPage, isZeroIn } = require('@millrace/framing/survey')

// A change takes less than this.
const PAUSE_MS = 10
// Where nothing has changed so often, nobody is writing: the bytes are still read again, but at once.
const PAUSES_MAX = 20
// What is never the same when it is read is not being erased: that is done once.
const LOOKS_MAX = 50

/**
 * @typedef {ReturnType<typeof import('@millrace/block-file').BlockFile>} BlockFile
 * @typedef {import('@millrace/framing/survey').Source} Source
 */

/**
 * @param {BlockFile} blocks
 * @param {Source} source  its `fileSize` becomes less if a writer cuts off what was never part of the log
 * @param {object} sinks
 * @param {import('@millrace/framing/survey').DamageList} sinks.damage  gets what is wrong
 * @param {import('./aside').Output | null} [sinks.output]  gets what is good
 * @param {(position: number) => void} [sinks.onProgress]
 * @param {number} [sinks.rangesMax]  how many ranges of chunks to list that nothing dates
 * @returns {Promise<{ survey: Survey, undeleted: number }>}  `undeleted` is how many deletions were undone by pages
 *   that are old; 0 when that is not known
 */
async function surveyFile (blocks, source, { damage, output = null, onProgress = () => {}, rangesMax = 0 }) {
  const window = blocks.createSpanReader()
  const survey = new Survey(source, window, { damage, output, rangesMax })
  const { cursor } = survey
  const confirmation = new Confirmation(blocks, source)
  const load = async () => {
    onProgress(cursor.at)
    let failure = null
    try {
      await call(window, 'loadForward', cursor.at, cursor.need, survey.limit)
    } catch (err) {
      failure = /** @type {Error} */ (err)
    }
    cursor.noteLoaded(failure)
    if (failure) throw failure
  }
  /** @type {Record<number, () => Promise<void>>} */
  const answers = {
    [STEP.NEEDS_BYTES]: load,
    [STEP.NEEDS_DRAIN]: async () => output?.drain(),
    [STEP.NEEDS_FRAME]: async () => survey.passOddChunk(await isErasedAt(blocks, survey.doubtfulFrame)),
    [STEP.NEEDS_LOOK]: async () => {
      const { start } = /** @type {import('@millrace/framing').Damage} */ (cursor.damage)
      if (await confirmation.hasChanged(window, start, survey.limit)) return window.forget()
      if (survey.needsNeighbours) await load()
      survey.passDamage()
    }
  }
  for (let need = survey.step(); need !== STEP.OVER; need = survey.step()) {
    try {
      await answers[need]()
    } catch (err) {
      if (!isShorter(err)) throw err
      await call(blocks, 'refresh')
      if (blocks.size.value >= survey.limit) throw err
      survey.limit = source.fileSize = blocks.size.value
      window.forget()
    }
  }
  survey.finish()
  const undeleted = survey.erasedTooFew
  return { survey, undeleted: undeleted !== 0 && await confirmation.hasHeadChanged() ? 0 : undeleted }
}

/**
 * @param {BlockFile} blocks
 * @param {number} position  of a frame
 */
async function isErasedAt (blocks, position) {
  const word = Buffer.alloc(LENGTH_SIZE)
  await call(blocks, 'readInto', word, position)
  return word.readUInt32BE(0) >>> 30 === FRAME_TYPES.ERASED
}

/**
 * Whether the file ended where bytes had been before: a writer may have cut off what was never part of the log.
 * @param {unknown} err
 */
function isShorter (err) {
  return err instanceof LogError && err.code === 'ERR_FILE_SHORT_READ'
}

/**
 * @param {BlockFile} blocks
 * @returns {Promise<Buffer>}  zeros where the file is shorter
 */
async function readHeadBytes (blocks) {
  const bytes = Buffer.alloc(HEAD_SIZE)
  await call(blocks, 'readInto', bytes.subarray(0, Math.min(HEAD_SIZE, blocks.size.value)), 0)
  return bytes
}

class Confirmation {
  #blocks
  #source
  #head
  /** What was looked at last, and found to stay as it is. */
  #checked = { start: 0, end: 0 }
  /** Where it was looked before that, and how often. */
  #look = { start: 0, count: 0 }
  #pausesLeft = PAUSES_MAX
  #hasHeadChanged = false

  /**
   * @param {BlockFile} blocks
   * @param {Source} source
   */
  constructor (blocks, source) {
    this.#blocks = blocks
    this.#source = source
    this.#head = source.head.bytes
  }

  /**
   * @param {import('@millrace/framing/survey').Window} window  the bytes as they were read
   * @param {number} start  of what looks damaged
   * @param {number} limit  how far the file is read
   * @returns {Promise<boolean>}  whether to look again, with bytes read anew
   */
  async hasChanged (window, start, limit) {
    const end = Math.min(limit, endOfPage(start))
    if (start >= this.#checked.start && end <= this.#checked.end) return false
    // Nothing is zeros while it is being erased, since every chunk keeps a header.
    if (window.end >= end && isZeroIn(window, start, end)) return false
    this.#look = { start, count: this.#look.start === start ? this.#look.count + 1 : 1 }
    if (this.#look.count <= LOOKS_MAX) {
      // What is being erased was finished in the window: so it is read again in any case.
      const isAsRead = window.end >= end && !this.#source.unfinished.has(start)
      if (!isAsRead && this.#look.count === 1) {
        await this.#refreshHead()
        return true
      }
      const before = isAsRead ? Buffer.from(window.buffer.subarray(start - window.start, end - window.start)) : null
      if (await this.#isChanging(start, end, before)) return true
    }
    this.#checked = { start, end }
    return false
  }

  /** Whether the head has changed since it was read first. */
  async hasHeadChanged () {
    await this.#refreshHead()
    return this.#hasHeadChanged
  }

  /**
   * @param {number} start
   * @param {number} end
   * @param {Buffer | null} before  null when it is not known what the file has there
   */
  async #isChanging (start, end, before) {
    const now = await this.#readAnew(start, end)
    if (now === null || (before !== null && !now.equals(before))) {
      this.#pausesLeft = PAUSES_MAX
      return true
    }
    if (this.#pausesLeft === 0) return false
    this.#pausesLeft--
    await pause(PAUSE_MS)
    const later = await this.#readAnew(start, end)
    return later === null || !later.equals(now)
  }

  /**
   * @param {number} start
   * @param {number} end
   * @returns {Promise<Buffer | null>}  null when the head says that something is being erased, or was
   */
  async #readAnew (start, end) {
    const isErasing = await this.#refreshHead()
    const bytes = Buffer.allocUnsafe(end - start)
    await call(this.#blocks, 'readInto', bytes, start)
    return isErasing ? null : bytes
  }

  /** @returns {Promise<boolean>}  whether other deletions are under way than before */
  async #refreshHead () {
    const source = this.#source
    const blocks = this.#blocks
    const bytes = await readHeadBytes(blocks)
    if (bytes.equals(this.#head)) return false
    const isErasing = !haveSameJournals(bytes, this.#head)
    this.#head = bytes
    this.#hasHeadChanged = true
    const head = readHead(bytes, blocks.path)
    // A part that is being written cannot be read: the next look finds it whole.
    if (isErasing && !(head instanceof LogError)) {
      source.unfinished.clear()
      rememberErasures(source, head.journals)
    }
    return isErasing
  }
}

exports.surveyFile = surveyFile
exports.readHeadBytes = readHeadBytes
exports.isShorter = isShorter
