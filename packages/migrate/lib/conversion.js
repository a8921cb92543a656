'use strict'
// One conversion, from looking at what is there to the rename. How far an earlier run came is not written down: what
// is in the new log already is compared with the source, record by record, and the rest is converted.

const { LogError } = require('@millrace/errors')
const { trampoline } = require('@millrace/flow')
const { checkResult } = require('./check-result')
const { compareRecords } = require('./compare-records')
const { inOrder } = require('./in-order')
const { Batch, RecordMaker } = require('./record-maker')
const { RecordReader } = require('./record-reader')
const { Reporter } = require('./reporter')
const { openSource } = require('./source')
const { Target } = require('./target')
const { bytesOf, createTranscoder } = require('./transcoder')

/**
 * @typedef {ReturnType<typeof import('./options').parseConvertOptions>} Plan
 * @typedef {(err?: Error | null) => void} Done
 */

/**
 * @typedef {object} Result
 * @property {string} format  of the source
 * @property {number} records  in the new log
 * @property {number} resumed  how many of them an earlier run has converted
 * @property {number | null} deleted  how many the source has marked as deleted; null where its format does not tell
 * @property {number} leftOut  because of `onBadRecord`
 * @property {import('./losses').Losses} lost  to damage, under `onCorrupt: 'skip'`
 * @property {{ offset: number, size: number } | null} torn  the end of the source, cut off while it was being written
 */

class Conversion {
  /** @param {Plan} plan */
  constructor (plan) {
    const { from, to, source, onBadRecord } = plan
    const transcoder = createTranscoder(plan)
    this._plan = plan
    this._transcoder = transcoder
    this._maker = new RecordMaker(transcoder, onBadRecord)
    this._reporter = new Reporter(plan)
    this._source = openSource(from, source)
    this._target = new Target(to, source.storage)
    /** @type {RecordReader | null} the pass over the source that made the records */
    this._reader = null
    /** Whether `to` is there: an earlier run ended just before it could say so. */
    this._isPublished = false
    this._recordCount = 0
    this._resumedCount = 0
  }

  /** Of the new log, empty if it has none: bytes that are copied are of the codec that the source names. */
  get _codecName () {
    return this._transcoder.to ?? this._source.codec ?? ''
  }

  /** @param {(err: Error | null, result?: Result) => void} cb */
  run (cb) {
    inOrder([
      (done) => this._source.ready(done),
      (done) => done(this._findMismatch()),
      (done) => this._reporter.check(done),
      // Once more under the lock, since another conversion may have ended just now.
      (done) => this._lookAround(done),
      (done) => this._target.lock(done),
      (done) => this._lookAround(done),
      (done) => this._plan.resume ? done() : this._target.removeLeftovers(done),
      (done) => this._agreeOnNote(done),
      (done) => this._isPublished ? done() : this._fill(done),
      (done) => this._check(done),
      (done) => this._isPublished ? this._target.removeNote(done) : this._target.publish(done)
    ], (err) => this._end(err, cb))
  }

  /** What a log of bytes holds its user knows. */
  _findMismatch () {
    const { from, fromCodec } = this._plan
    const { codec } = this._source
    if (!codec || !fromCodec?.name || codec === fromCodec.name || codec === 'bytes') return null
    return new LogError('ERR_CODEC_MISMATCH', `convert: ${from} has records of the codec ${codec}, and fromCodec is ` +
      `${fromCodec.name}; give the codec ${codec}`, { path: from })
  }

  /** @param {Done} done */
  _lookAround (done) {
    this._target.lookAround(this._plan.resume, (err, isPublished = false) => {
      this._isPublished = isPublished
      done(err)
    })
  }

  /** @param {Done} done */
  _agreeOnNote (done) {
    const { source: { blockSize, onCorrupt } } = this._plan
    const { size: sourceSize = 0, format = '' } = this._source
    const contents = { sourceSize, format, blockSize, onCorrupt, from: this._transcoder.from, to: this._codecName }
    this._target.agreeOnNote(contents, (err) => done(err && this._isPublished ? this._target.existsError(err) : err))
  }

  /** @param {Done} done  all records are in the target, on stable storage */
  _fill (done) {
    const reader = this._reader = new RecordReader(this._source.createCursor())
    inOrder([
      (done) => this._target.open(bytesOf(this._codecName), done),
      (done) => this._replay(reader, done),
      (done) => this._convertRest(reader, done),
      (done) => this._target.close(done)
    ], done)
  }

  /**
   * Passes over what an earlier run has converted.
   * @param {RecordReader} reader
   * @param {Done} done
   */
  _replay (reader, done) {
    compareRecords({
      source: reader,
      target: this._target.createReader(),
      isSame: this._maker.isSame,
      isLeftOut: (bytes, seq) => this._maker.make(bytes, seq) === null,
      onPair: () => { this._resumedCount++ },
      pause: (cb) => this._reporter.report('resume', this._resumedCount, reader, cb),
      createError: (what, seq) => new LogError('ERR_SOURCE_CHANGED', `convert: ${what}: the source has changed since the ` +
        `conversion began, or ${this._target.path} has been damaged; begin anew with resume: false`, { offset: seq ?? undefined })
    }, (err) => {
      this._recordCount = this._resumedCount
      done(err)
    })
  }

  /**
   * @param {RecordReader} reader
   * @param {Done} done
   */
  _convertRest (reader, done) {
    trampoline((next) => {
      const batch = new Batch(this._plan.batchSize)
      this._gather(reader, batch, (err) => {
        if (err) return done(err)
        if (batch.records.length === 0) return this._reporter.report('convert', this._recordCount, reader, done)
        this._target.append(batch.records, (err) => {
          if (err) return done(err)
          this._recordCount += batch.records.length
          this._reporter.report('convert', this._recordCount, reader, (err) => err ? done(err) : next())
        })
      })
    })
  }

  /**
   * @param {RecordReader} reader
   * @param {Batch} batch  is filled; it is empty afterwards only at the end of the source
   * @param {Done} done
   */
  _gather (reader, batch, done) {
    trampoline((next) => {
      reader.fill((err) => {
        if (err || reader.isEnd) return done(err)
        try {
          this._maker.makeBatch(reader, batch)
        } catch (err) {
          return done(/** @type {Error} */ (err))
        }
        if (batch.isFull) done()
        else this._reporter.check((err) => err ? done(err) : next())
      })
    })
  }

  /**
   * Opens the source anew, and unless that is not wanted, reads both files again from the beginning.
   * @param {Done} done
   */
  _check (done) {
    const { from, source: options, verify, onRecord } = this._plan
    const before = this._source
    const again = this._source = openSource(from, options)
    inOrder([
      (done) => before.close(done),
      (done) => again.ready(done),
      (done) => done(again.size === before.size ? null : this._sizeError(before.size, again.size)),
      (done) => verify || onRecord || this._isPublished ? this._compare(done) : done()
    ], done)
  }

  /** @param {Done} done */
  _compare (done) {
    const { source: { storage }, onRecord } = this._plan
    const path = this._isPublished ? this._target.to : this._target.path
    const check = { source: this._source, path, storage, maker: this._maker, reporter: this._reporter, onRecord }
    checkResult(check, (err, checked) => {
      if (!this._isPublished || !checked) return done(err)
      if (err) return done(this._target.existsError(err))
      this._reader = checked.reader
      this._recordCount = this._resumedCount = checked.count
      this._maker.leftOut = checked.leftOut
      done()
    })
  }

  /**
   * @param {number | undefined} before
   * @param {number | undefined} now
   */
  _sizeError (before, now) {
    return new LogError('ERR_SOURCE_CHANGED', `convert: ${this._plan.from} had ${before} bytes at the beginning and has ${now} ` +
      'now; see that nothing writes to it, and begin anew with resume: false', { path: this._plan.from })
  }

  /**
   * @param {Error | null} err
   * @param {(err: Error | null, result?: Result) => void} cb
   */
  _end (err, cb) {
    const { _reader: reader, _source: { format = '' } } = this
    const end = (/** @type {Array<Error | null | undefined>} */ ...errors) => {
      const failure = [err, ...errors].find(Boolean) ?? null
      if (failure || reader === null) return cb(failure)
      const { deleted, lost, torn } = reader.cursor
      cb(null, {
        format,
        records: this._recordCount,
        resumed: this._resumedCount,
        deleted,
        leftOut: this._maker.leftOut,
        lost,
        torn
      })
    }
    const giveUp = (/** @type {Done} */ cb) => err && !this._isPublished ? this._target.giveUp(cb) : cb(null)
    giveUp((targetErr) => this._target.unlock((lockErr) => {
      this._source.close((/** @type {Error | null} */ sourceErr) => end(targetErr, lockErr, sourceErr))
    }))
  }
}

exports.Conversion = Conversion
