'use strict'
// Runs one conversion, from a look at what is there to the rename. How far an earlier run came is not written down: the
// records in the new log are compared with the source, and the rest is converted.

const { LogError } = require('@millrace/errors')
const { callbackOrPromise, toCallback } = require('@millrace/flow')
const { checkLine } = require('@millrace/framing')
const { closing } = require('./files')
const { parseConvertOptions } = require('./options')
const { openSource } = require('./source')
const { Target } = require('./target')
const { bytesOf, createTranscoder } = require('./transcoder')

// A batch is held in memory twice.
const BATCH_SIZE_MAX = 4 * 1024 * 1024

/**
 * @typedef {import('./options').ConvertOptions} ConvertOptions
 * @typedef {ReturnType<typeof parseConvertOptions>} Plan
 * @typedef {import('./record-reader').RecordReader} RecordReader
 */

/** @template T @typedef {import('@millrace/errors').NodeCallback<T>} NodeCallback */

/**
 * How records of the source and of the new log are compared.
 * @typedef {object} Comparison
 * @property {(bytes: Buffer, seq: number) => boolean} isLeftOut  whether a record of the source has no counterpart
 * @property {(oldSeq: number, newSeq: number) => void} onPair
 * @property {() => void} onBatch
 * @property {(what: string, seq?: number) => Error} createError
 */

/**
 * @typedef {object} Result
 * @property {string} format  of the source
 * @property {number} records  in the new log
 * @property {number} resumed  how many of them an earlier run converted
 * @property {number | null} deleted  how many the source has marked as deleted; null if its format does not tell
 * @property {number} leftOut  because of `onBadRecord`
 * @property {import('./record-reader').Losses} lost  to damage, under `onCorrupt: 'skip'`
 * @property {{ offset: number, size: number } | null} torn  an end of the source that was cut off during its write
 */

/**
 * Makes a log with the records of another log, in order. Afterwards `to` is whole and verified, or does not
 * exist. After an interruption, the same call continues.
 * @overload
 * @param {string | URL} from  never written to
 * @param {string | URL} to  must not exist
 * @param {ConvertOptions} [options]
 * @returns {Promise<Result>}
 */
/**
 * @overload
 * @param {string | URL} from
 * @param {string | URL} to
 * @param {NodeCallback<Result>} cb
 * @returns {void}
 */
/**
 * @overload
 * @param {string | URL} from
 * @param {string | URL} to
 * @param {ConvertOptions | undefined} options
 * @param {NodeCallback<Result>} cb
 * @returns {void}
 */
/**
 * @param {string | URL} from
 * @param {string | URL} to
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
  #source
  #target
  /** @type {RecordReader | null} the pass over the source that made the records */
  #reader = null
  /** Whether `to` exists: an earlier run ended between the rename and the removal of its manifest. */
  #isPublished = false
  #recordCount = 0
  #resumedCount = 0
  #leftOutCount = 0
  #lastProgress = ''

  /** @param {Plan} plan */
  constructor (plan) {
    const { from, to, source, framing } = plan
    this.#plan = plan
    this.#transcoder = createTranscoder(plan)
    this.#source = openSource(from, source)
    this.#target = new Target(to, framing, source.storage)
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
    const { deleted, lost, torn } = /** @type {RecordReader} */ (this.#reader).met
    return {
      format: this.#source.format ?? '',
      records: this.#recordCount,
      resumed: this.#resumedCount,
      deleted,
      leftOut: this.#leftOutCount,
      lost,
      torn
    }
  }

  async #convert () {
    const { resume } = this.#plan
    await this.#source.ready()
    this.#checkCodec()
    this.#checkSignal()
    this.#isPublished = await this.#target.findPublished(resume)
    await this.#target.lock()
    // Again under the lock, because another conversion may have ended just now.
    this.#isPublished = await this.#target.findPublished(resume)
    if (!resume) await this.#target.removeLeftovers()
    await this.#agreeOnManifest().catch((err) => this.#explainIfPublished(err))
    if (!this.#isPublished) await this.#fill()
    await this.#check()
    await this.#plan.onVerified()
    if (this.#isPublished) await this.#target.removeManifest()
    else await this.#target.publish()
  }

  /** If the source names the codec `bytes`, only the user knows what it holds. */
  #checkCodec () {
    const { from, fromCodec } = this.#plan
    const { codec } = this.#source
    if (!codec || !fromCodec?.name || codec === fromCodec.name || codec === 'bytes') return
    throw new LogError('ERR_CODEC_MISMATCH', `convert: ${from} has records of the codec ${codec}, and fromCodec is ` +
      `${fromCodec.name}; give the codec ${codec}`, { path: from })
  }

  /** Of the new log; empty if it has none. Copied bytes have the codec of the source. */
  get #codecName () {
    return this.#transcoder.to ?? this.#source.codec ?? ''
  }

  async #agreeOnManifest () {
    const { framing, source: { blockSize, onCorrupt } } = this.#plan
    const { size: sourceSize = 0, format = '' } = this.#source
    const { from } = this.#transcoder
    await this.#target.agreeOnManifest({ sourceSize, format, blockSize, onCorrupt, framing, from, to: this.#codecName })
  }

  /** @type {(err: unknown) => never} */
  #explainIfPublished (err) {
    throw this.#isPublished ? this.#target.existsError(err) : err
  }

  /** Afterwards all records are in the target, on stable storage. */
  async #fill () {
    const reader = this.#reader = this.#source.createReader()
    await this.#target.open(bytesOf(this.#codecName))
    await this.#replay(reader)
    for (let isDone = false; !isDone;) {
      const records = await this.#gather(reader)
      isDone = records.length === 0
      if (!isDone) await this.#target.append(records)
      this.#recordCount += records.length
      this.#report('convert', this.#recordCount, reader)
    }
    await this.#target.close()
  }

  /** Passes what an earlier run converted. @type {(reader: RecordReader) => Promise<void>} */
  async #replay (reader) {
    await this.#compare(reader, this.#target.createReader(), {
      isLeftOut: (bytes, seq) => this.#make(bytes, seq) === null,
      onPair: () => { this.#resumedCount++ },
      onBatch: () => this.#report('resume', this.#resumedCount, reader),
      createError: (what, offset) => new LogError('ERR_SOURCE_CHANGED', `convert: ${what}: the source has changed since the ` +
        `conversion began, or ${this.#target.path} has been damaged; begin anew with resume: false`, { offset })
    }).catch((err) => { throw this.#target.damagedError(err) ?? err })
    this.#recordCount = this.#resumedCount
  }

  /** Returns a full batch, except at the end of the source. @type {(reader: RecordReader) => Promise<Buffer[]>} */
  async #gather (reader) {
    /** @type {Buffer[]} */
    const records = []
    let size = 0
    const isFull = () => records.length >= this.#plan.batchSize || size >= BATCH_SIZE_MAX
    for (await reader.fill(); !reader.isEnd; await reader.fill()) {
      for (; reader.hasRecord && !isFull(); reader.advance()) {
        const record = this.#make(reader.bytes, reader.seq)
        if (record === null) continue
        records.push(record)
        size += record.length
      }
      if (isFull()) break
      this.#checkSignal()
    }
    return records
  }

  // Null for a record that is to be left out. Throws what the codecs or the user's function throw.
  /** @type {(bytes: Buffer, seq: number) => Buffer | null} */
  #make (bytes, seq) {
    try {
      return this.#encode(bytes, seq)
    } catch (err) {
      if (this.#plan.onBadRecord(/** @type {any} */ (err), { seq, bytes }) !== true) throw err
      this.#leftOutCount++
      return null
    }
  }

  /** @type {(bytes: Buffer, seq: number) => Buffer} throws a LogError if the codecs or the framing refuse the record */
  #encode (bytes, seq) {
    const record = this.#transcoder.encode(bytes, seq)
    const err = this.#plan.framing === 'lines' ? checkLine(record) : null
    if (err === null) return record
    throw new LogError(err.code, `convert: the record at ${seq} cannot be a line (${err.message})`, { cause: err, offset: seq })
  }

  /** @type {(bytes: Buffer, seq: number) => boolean} */
  #cannotBeMade (bytes, seq) {
    try {
      this.#encode(bytes, seq)
      return false
    } catch {
      return true
    }
  }

  /** Opens the source anew, and reads both files again from the beginning unless `verify` is false. */
  async #check () {
    const { from, framing, source: options, verify, onRecord } = this.#plan
    const before = this.#source
    const again = this.#source = openSource(from, options)
    await before.close()
    await again.ready()
    if (again.size !== before.size) {
      throw new LogError('ERR_SOURCE_CHANGED', `convert: ${from} had ${before.size} bytes at the beginning and has ${again.size} ` +
        'now; make sure that nothing writes to it, and begin anew with resume: false', { path: from })
    }
    if (!verify && !onRecord && !this.#isPublished) return
    const path = this.#isPublished ? this.#target.to : this.#target.path
    const made = openSource(path, { format: framing, storage: options.storage })
    await closing(made, async () => {
      await made.ready()
      await this.#compareAll(again.createReader(), made.createReader(), path)
    }).catch((err) => this.#explainIfPublished(err))
  }

  // `made` reads the new log, which is at `path`. Throws ERR_NOT_VERIFIED.
  /** @type {(reader: RecordReader, made: RecordReader, path: string) => Promise<void>} */
  async #compareAll (reader, made, path) {
    const { onRecord = () => {} } = this.#plan
    let [count, leftOutCount] = [0, 0]
    const report = () => this.#report('verify', count, reader)
    /** @type {Comparison['isLeftOut']} */
    const isLeftOut = (bytes, seq) => {
      const isBad = this.#cannotBeMade(bytes, seq)
      if (isBad) leftOutCount++
      return isBad
    }
    /** @type {Comparison['onPair']} */
    const onPair = (oldSeq, newSeq) => {
      count++
      onRecord(oldSeq, newSeq)
    }
    /** @type {Comparison['createError']} */
    const createError = (what, offset) => new LogError('ERR_NOT_VERIFIED', `convert: ${what}, now that both were read again; make sure ` +
      'that nothing writes to the source, and begin anew with resume: false', { offset, path })
    await this.#compare(reader, made, { isLeftOut, onPair, onBatch: report, createError })
    for (await reader.fill(); !reader.isEnd; await reader.fill()) {
      if (!isLeftOut(reader.bytes, reader.seq)) throw createError(`the record at ${reader.seq} is not in the new log`, reader.seq)
      reader.advance()
    }
    report()
    if (!this.#isPublished) return
    this.#reader = reader
    this.#recordCount = this.#resumedCount = count
    this.#leftOutCount = leftOutCount
  }

  // Ends where the new log ends, if the source has all of it. What follows in the source is not looked at.
  /** @type {(source: RecordReader, target: RecordReader, comparison: Comparison) => Promise<void>} */
  async #compare (source, target, { isLeftOut, onPair, onBatch, createError }) {
    for (await target.fill(); !target.isEnd; await target.fill()) {
      await source.fill()
      if (source.isEnd) throw createError(`the new log has a record at ${target.seq} that the source has not`)
      for (; source.hasRecord && target.hasRecord; source.advance()) {
        if (this.#transcoder.isSame(source.bytes, target.bytes)) {
          onPair(source.seq, target.seq)
          target.advance()
        } else if (!isLeftOut(source.bytes, source.seq)) {
          throw createError(`the record at ${source.seq} is not what the new log has at ${target.seq}`, source.seq)
        }
      }
      onBatch()
    }
  }

  // Tells the user the progress, between batches. Throws what the user's function throws, and as `#checkSignal`.
  /** @type {(phase: import('./options').Progress['phase'], records: number, reader: RecordReader) => void} */
  #report (phase, records, reader) {
    const progress = { phase, records, bytesDone: reader.position, bytesTotal: reader.met.total }
    // The end of a phase is reported only once.
    const text = JSON.stringify(progress)
    if (text !== this.#lastProgress) this.#plan.onProgress(progress)
    this.#lastProgress = text
    this.#checkSignal()
  }

  /** @throws ABORT_ERR, as functions of Node.js do, once the signal is aborted */
  #checkSignal () {
    const { signal } = this.#plan
    if (!signal?.aborted) return
    const err = new Error('convert: aborted; call it again to go on', { cause: signal.reason })
    err.name = 'AbortError'
    throw Object.assign(err, { code: 'ABORT_ERR' })
  }
}

exports.convert = convert
