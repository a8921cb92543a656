'use strict'
// One conversion, from looking at what is there to the rename. How far an earlier run came is not written down: what is
// in the new log already is compared with the source, record by record, and the rest is converted.

const { LogError } = require('@millrace/errors')
const { callbackOrPromise, toCallback } = require('@millrace/flow')
const { checkResult, compareRecords } = require('./compare')
const { RecordReader } = require('./cursors')
const { parseConvertOptions } = require('./options')
const { openSource } = require('./source')
const { Target } = require('./target')
const { RecordBatch, RecordMaker, bytesOf, createTranscoder } = require('./transcoder')

/**
 * @typedef {import('./options').ConvertOptions} ConvertOptions
 * @typedef {ReturnType<typeof parseConvertOptions>} Plan
 */

/**
 * @template T
 * @typedef {import('@millrace/errors').NodeCallback<T>} NodeCallback
 */

/**
 * @typedef {object} Result
 * @property {string} format  of the source
 * @property {number} records  in the new log
 * @property {number} resumed  how many of them an earlier run has converted
 * @property {number | null} deleted  how many the source has marked as deleted; null if its format does not tell
 * @property {number} leftOut  because of `onBadRecord`
 * @property {import('./cursors').Losses} lost  to damage, under `onCorrupt: 'skip'`
 * @property {{ offset: number, size: number } | null} torn  the end of the source, cut off while it was being written
 */

/**
 * Makes a checked log with the records of another log, in order; `to` is there whole and verified, or not at all. If it
 * is called again after an interruption, it goes on where it was.
 * @overload
 * @param {string} from  never written to
 * @param {string} to  must not exist
 * @param {ConvertOptions} [options]
 * @returns {Promise<Result>}
 */
/**
 * @overload
 * @param {string} from
 * @param {string} to
 * @param {NodeCallback<Result>} cb
 * @returns {void}
 */
/**
 * @overload
 * @param {string} from
 * @param {string} to
 * @param {ConvertOptions | undefined} options
 * @param {NodeCallback<Result>} cb
 * @returns {void}
 */
/**
 * @param {string} from
 * @param {string} to
 * @param {ConvertOptions | NodeCallback<Result>} [options]
 * @param {NodeCallback<Result>} [cb]
 * @returns {any}
 */
function convert (from, to, options, cb) {
  if (typeof options === 'function') return convert(from, to, undefined, options)
  const run = async () => new Conversion(parseConvertOptions(from, to, options)).run()
  return callbackOrPromise(cb, (cb) => toCallback(run(), cb), 'convert')
}

class Conversion {
  #plan
  #transcoder
  #maker
  #progress
  #source
  #target
  /** @type {RecordReader | null} the pass over the source that made the records */
  #reader = null
  /** Whether `to` is there: an earlier run ended after the rename, before it had removed its manifest. */
  #isPublished = false
  #recordCount = 0
  #resumedCount = 0

  /** @param {Plan} plan */
  constructor (plan) {
    const { from, to, source, onBadRecord } = plan
    this.#plan = plan
    this.#transcoder = createTranscoder(plan)
    this.#maker = new RecordMaker(this.#transcoder, onBadRecord)
    this.#progress = new ProgressReporter(plan)
    this.#source = openSource(from, source)
    this.#target = new Target(to, source.storage)
  }

  /** @returns {Promise<Result>} */
  async run () {
    /** @type {unknown[]} */
    const errors = []
    const attempt = (/** @type {Promise<void>} */ step) => step.catch((err) => { errors.push(err) })
    await attempt(this.#convert())
    if (errors.length > 0 && !this.#isPublished) await attempt(this.#target.abandon())
    await attempt(this.#target.unlock())
    await attempt(this.#source.close())
    if (errors.length > 0) throw errors[0]
    return this.#createResult()
  }

  async #convert () {
    const { resume } = this.#plan
    await this.#source.ready()
    this.#checkCodec()
    this.#progress.check()
    this.#isPublished = await this.#target.findPublished(resume)
    await this.#target.lock()
    // Again under the lock, since another conversion may have ended just now.
    this.#isPublished = await this.#target.findPublished(resume)
    if (!resume) await this.#target.removeLeftovers()
    await this.#agreeOnManifest()
    if (!this.#isPublished) await this.#fill()
    await this.#check()
    if (this.#isPublished) await this.#target.removeManifest()
    else await this.#target.publish()
  }

  /** The user knows what a log of bytes holds. */
  #checkCodec () {
    const { from, fromCodec } = this.#plan
    const { codec } = this.#source
    if (!codec || !fromCodec?.name || codec === fromCodec.name || codec === 'bytes') return
    throw new LogError('ERR_CODEC_MISMATCH', `convert: ${from} has records of the codec ${codec}, and fromCodec is ` +
      `${fromCodec.name}; give the codec ${codec}`, { path: from })
  }

  /** Of the new log, empty if it has none: bytes that are copied are of the codec that the source names. */
  get #codecName () {
    return this.#transcoder.to ?? this.#source.codec ?? ''
  }

  async #agreeOnManifest () {
    const { source: { blockSize, onCorrupt } } = this.#plan
    const { size: sourceSize = 0, format = '' } = this.#source
    const manifest = { sourceSize, format, blockSize, onCorrupt, from: this.#transcoder.from, to: this.#codecName }
    await this.#target.agreeOnManifest(manifest).catch((err) => this.#explainIfPublished(err))
  }

  /**
   * @param {unknown} err
   * @returns {never}
   */
  #explainIfPublished (err) {
    throw this.#isPublished ? this.#target.existsError(err) : err
  }

  /** Afterwards all records are in the target, on stable storage. */
  async #fill () {
    const reader = this.#reader = new RecordReader(this.#source.createCursor())
    await this.#target.open(bytesOf(this.#codecName))
    await this.#replay(reader)
    await this.#convertRest(reader)
    await this.#target.close()
  }

  /**
   * Passes over what an earlier run has converted.
   * @param {RecordReader} reader
   */
  async #replay (reader) {
    await compareRecords({
      source: reader,
      target: this.#target.createReader(),
      isSame: this.#maker.isSame,
      isLeftOut: (bytes, seq) => this.#maker.make(bytes, seq) === null,
      onPair: () => { this.#resumedCount++ },
      onBatch: () => this.#progress.report('resume', this.#resumedCount, reader),
      createError: (what, seq) => new LogError('ERR_SOURCE_CHANGED', `convert: ${what}: the source has changed since the ` +
        `conversion began, or ${this.#target.path} has been damaged; begin anew with resume: false`, { offset: seq ?? undefined })
    })
    this.#recordCount = this.#resumedCount
  }

  /** @param {RecordReader} reader */
  async #convertRest (reader) {
    for (;;) {
      const { records } = await this.#gather(reader)
      if (records.length > 0) await this.#target.append(records)
      this.#recordCount += records.length
      this.#progress.report('convert', this.#recordCount, reader)
      if (records.length === 0) return
    }
  }

  /**
   * @param {RecordReader} reader
   * @returns {Promise<RecordBatch>}  full, except at the end of the source
   */
  async #gather (reader) {
    const batch = new RecordBatch(this.#plan.batchSize)
    for (await reader.fill(); !reader.isEnd; await reader.fill()) {
      this.#maker.makeBatch(reader, batch)
      if (batch.isFull) break
      this.#progress.check()
    }
    return batch
  }

  /** Opens the source anew. Reads both files again from the beginning, unless that is not wanted. */
  async #check () {
    const { from, source: options, verify, onRecord } = this.#plan
    const before = this.#source
    const again = this.#source = openSource(from, options)
    await before.close()
    await again.ready()
    if (again.size !== before.size) {
      throw new LogError('ERR_SOURCE_CHANGED', `convert: ${from} had ${before.size} bytes at the beginning and has ${again.size} ` +
        'now; see that nothing writes to it, and begin anew with resume: false', { path: from })
    }
    if (!verify && !onRecord && !this.#isPublished) return
    const path = this.#isPublished ? this.#target.to : this.#target.path
    const { reader, count, leftOut } = await checkResult({
      source: again, path, storage: options.storage, maker: this.#maker, progress: this.#progress, onRecord
    }).catch((err) => this.#explainIfPublished(err))
    if (!this.#isPublished) return
    this.#reader = reader
    this.#recordCount = this.#resumedCount = count
    this.#maker.leftOut = leftOut
  }

  /** @returns {Result} */
  #createResult () {
    const { deleted, lost, torn } = /** @type {RecordReader} */ (this.#reader).cursor
    return {
      format: this.#source.format ?? '',
      records: this.#recordCount,
      resumed: this.#resumedCount,
      deleted,
      leftOut: this.#maker.leftOut,
      lost,
      torn
    }
  }
}

/** Between batches: tells the user how far the conversion is, and finds out whether it should go on. */
class ProgressReporter {
  #onProgress
  #signal
  #last = ''

  /** @param {Pick<Plan, 'onProgress' | 'signal'>} plan */
  constructor ({ onProgress, signal }) {
    this.#onProgress = onProgress
    this.#signal = signal
  }

  /**
   * @param {import('./options').Progress['phase']} phase
   * @param {number} records  done in this phase
   * @param {RecordReader} source
   * @throws what the user's function throws, and as `check`
   */
  report (phase, records, source) {
    const progress = { phase, records, bytesDone: source.position, bytesTotal: source.total }
    // The end of a phase is reported once.
    const text = JSON.stringify(progress)
    if (text !== this.#last) this.#onProgress(progress)
    this.#last = text
    this.check()
  }

  /** @throws ABORT_ERR, as Node's own functions do, once the signal is aborted */
  check () {
    if (!this.#signal?.aborted) return
    const err = new Error('convert: aborted; call it again to go on', { cause: this.#signal.reason })
    err.name = 'AbortError'
    throw Object.assign(err, { code: 'ABORT_ERR' })
  }
}

exports.convert = convert
exports.ProgressReporter = ProgressReporter
