'use strict'
// Drives the survey of a checked file that this process or another one may be writing. A chunk that is being erased
// looks damaged. So before a chunk counts as damaged, its bytes are read again until they stay the same. So is the
// head, which says what is being erased.

const { LogError } = require('@millrace/errors')
const { pause, promisesOf, toPromise } = require('@millrace/flow')
const {
  FRAME_TYPES, LENGTH_SIZE, haveSameJournals, readHead, rememberErasures
} = require('@millrace/framing')
const { STEP, Survey, endOfPage, isZeroIn } = require('@millrace/framing/survey')
const { readBytes } = require('../recover/identify')

// Longer than a write takes.
const PAUSE_MS = 10
// After this many pauses without a change, nobody is writing. Bytes are still read again, but without a pause.
const PAUSES_MAX = 20
// An erasure changes a chunk once, so a chunk that changes at more looks than this is damaged.
const LOOKS_MAX = 50

/**
 * @typedef {ReturnType<typeof import('@millrace/block-file').BlockFile>} BlockFile
 * @typedef {import('@millrace/framing/survey').Source} Source
 */

/**
 * @param {BlockFile} blocks
 * @param {Source} source  `fileSize` is lowered if a writer cuts a torn end
 * @param {object} sinks
 * @param {import('@millrace/framing/survey').DamageList} sinks.damage
 * @param {import('./aside').Output | null} [sinks.output]  gets the good chunks
 * @param {(position: number) => void} [sinks.onProgress]
 * @param {number} [sinks.rangesMax]  how many ranges of chunks that nothing dates to list
 * @returns {Promise<{ survey: Survey, undeleted: number }>}  `undeleted`: how many deletions old pages have undone; 0
 *   if unknown
 */
async function surveyFile (blocks, source, { damage, output = null, onProgress = () => {}, rangesMax = 0 }) {
  const window = blocks.createSpanReader()
  const survey = new Survey(source, window, { damage, output, rangesMax })
  const { cursor } = survey
  const confirmation = new Confirmation(blocks, source)
  const load = async () => {
    onProgress(cursor.at)
    await promisesOf(window).loadForward(cursor.at, cursor.need, survey.limit)
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
      await toPromise((cb) => blocks.refresh(cb))
      if (blocks.size.value >= survey.limit) throw err
      survey.limit = source.fileSize = blocks.size.value
      window.forget()
    }
  }
  survey.finish()
  const undeleted = survey.erasedTooFew
  return { survey, undeleted: undeleted !== 0 && await confirmation.hasHeadChanged() ? 0 : undeleted }
}

/** @type {(blocks: BlockFile, frameStart: number) => Promise<boolean>} */
async function isErasedAt (blocks, position) {
  const word = Buffer.alloc(LENGTH_SIZE)
  await promisesOf(blocks).readInto(word, position)
  return word.readUInt32BE(0) >>> 30 === FRAME_TYPES.ERASED
}

/**
 * Whether a read met the end of the file too early: a writer may have cut a torn end.
 * @param {unknown} err
 */
function isShorter (err) {
  return err instanceof LogError && err.code === 'ERR_FILE_SHORT_READ'
}

class Confirmation {
  #blocks
  #source
  #head
  /** The last range that was found stable. */
  #checked = { start: 0, end: 0 }
  /** Where the last look was, and how many looks in a row were there. */
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
   * @param {import('@millrace/framing/survey').Window} window  the bytes that look damaged
   * @param {number} start  where the damage begins
   * @param {number} limit  how far the file is read
   * @returns {Promise<boolean>}  whether to read and judge the bytes again
   */
  async hasChanged (window, start, limit) {
    const end = Math.min(limit, endOfPage(start))
    if (start >= this.#checked.start && end <= this.#checked.end) return false
    // An erasure never leaves only zeros: every chunk keeps its header.
    if (window.end >= end && isZeroIn(window, start, end)) return false
    this.#look = { start, count: this.#look.start === start ? this.#look.count + 1 : 1 }
    if (this.#look.count <= LOOKS_MAX) {
      // In the window unfinished erasures are finished, so it cannot be compared with the file.
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

  /** Whether the head has changed since the first read. */
  async hasHeadChanged () {
    await this.#refreshHead()
    return this.#hasHeadChanged
  }

  /**
   * @param {number} start
   * @param {number} end
   * @param {Buffer | null} before  null if unknown
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
   * `null`: other deletions are in progress than before.
   * @type {(start: number, end: number) => Promise<Buffer | null>}
   */
  async #readAnew (start, end) {
    const isErasing = await this.#refreshHead()
    const bytes = Buffer.allocUnsafe(end - start)
    await promisesOf(this.#blocks).readInto(bytes, start)
    return isErasing ? null : bytes
  }

  /** @returns {Promise<boolean>}  whether other deletions are in progress than before */
  async #refreshHead () {
    const source = this.#source
    const blocks = this.#blocks
    const bytes = await readBytes(blocks)
    if (bytes.equals(this.#head)) return false
    const isErasing = !haveSameJournals(bytes, this.#head)
    this.#head = bytes
    this.#hasHeadChanged = true
    const head = readHead(bytes, blocks.path)
    // The head cannot be read while it is being written. The next look finds it whole.
    if (isErasing && !(head instanceof LogError)) {
      source.unfinished.clear()
      rememberErasures(source, head.journals)
    }
    return isErasing
  }
}

exports.surveyFile = surveyFile
exports.isShorter = isShorter
